// The cache's own queue against LRU and Belady's optimum, on traces made from a fixed seed. Prints the hit ratios.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <list>
#include <numbers>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "src/cache/eviction.h"

namespace pontage::cache {
namespace {

constexpr std::uint32_t kObjects = 20'000;
constexpr std::size_t kRequests = 60'000;
constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

enum class Pattern : std::uint8_t { plain, scans, loops };

struct Trace {
  std::string name;
  Pattern pattern = Pattern::plain;
  double skew = 0;
  std::vector<std::uint32_t> requests;
  std::vector<std::uint64_t> sizes;  // by object
  std::uint64_t bytes = 0;           // of all objects asked for
};

class TraceMaker {
 public:
  TraceMaker(double skew, Pattern pattern) : skew_(skew), pattern_(pattern) {
    double sum = 0;
    for (std::uint32_t rank = 1; rank <= kObjects; ++rank) {
      sum += 1 / std::pow(rank, skew);
      cumulative_.push_back(sum);
    }
  }

  Trace make() {
    constexpr const char* kNames[] = {"plain", "scans", "loops"};
    Trace trace;
    trace.pattern = pattern_;
    trace.skew = skew_;
    trace.name = "zipf " + std::to_string(skew_).substr(0, 3) + " " + kNames[static_cast<int>(pattern_)];
    while (trace.requests.size() < kRequests) {
      for (int i = 0; i < 10'000; ++i) trace.requests.push_back(popular());
      disturb(trace.requests);
    }
    const std::uint32_t last = *std::max_element(trace.requests.begin(), trace.requests.end());
    for (std::uint32_t i = 0; i <= last; ++i) trace.sizes.push_back(size());
    std::vector<bool> seen(last + 1);
    for (const std::uint32_t object : trace.requests) {
      if (!seen[object]) trace.bytes += trace.sizes[object];
      seen[object] = true;
    }
    return trace;
  }

 private:
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  std::uint32_t popular() {
    const auto at = std::lower_bound(cumulative_.begin(), cumulative_.end(), unit() * cumulative_.back());
    return static_cast<std::uint32_t>(std::min<std::ptrdiff_t>(at - cumulative_.begin(), kObjects - 1));
  }
  // As files are: most are small, some large; 300 bytes to what still is kept in memory.
  std::uint64_t size() {
    const double normal = std::sqrt(-2 * std::log(1 - unit())) * std::cos(2 * std::numbers::pi * unit());
    return static_cast<std::uint64_t>(std::clamp(std::exp(7.6 + 1.1 * normal), 300.0, 12'600.0));
  }
  void disturb(std::vector<std::uint32_t>& requests) {
    if (pattern_ == Pattern::scans) {  // a crawler walks over names nobody else asks for
      for (int i = 0; i < 4000; ++i) requests.push_back(next_scanned_++);
    } else if (pattern_ == Pattern::loops) {  // a job that reads the same tree each time
      for (std::uint32_t i = 0; i < 3000; ++i) requests.push_back(kObjects + i);
    }
  }

  double skew_;
  Pattern pattern_;
  std::vector<double> cumulative_;
  std::mt19937_64 random_{20'260'101};
  std::uint32_t next_scanned_ = kObjects;
};

double ratio(std::size_t hits, const Trace& trace) {
  return static_cast<double>(hits) / static_cast<double>(trace.requests.size());
}

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

double ours(const Trace& trace, std::uint64_t budget) {
  EvictionQueue queue(budget);
  std::vector<EntryRef> entries;
  for (std::size_t i = 0; i < trace.sizes.size(); ++i) {
    entries.push_back(FileEntry::make({}));
    entries.back()->cache.hash = mixed(i + 1);
    entries.back()->cache.cost = trace.sizes[i];
  }
  std::size_t hits = 0;
  for (const std::uint32_t object : trace.requests) {
    FileEntry& entry = *entries[object].get();
    if (entry.linked()) {
      ++hits;
      EvictionQueue::touch(entry);
      continue;
    }
    queue.add(entry);
    while (queue.victim() != nullptr) EXPECT_LE(queue.cost(), budget + trace.sizes[object]);
  }
  EXPECT_LE(queue.cost(), budget);
  return ratio(hits, trace);
}

double lru(const Trace& trace, std::uint64_t budget) {
  std::list<std::uint32_t> order;  // newest first
  std::vector<std::list<std::uint32_t>::iterator> places(trace.sizes.size(), order.end());
  std::uint64_t used = 0;
  std::size_t hits = 0;
  for (const std::uint32_t object : trace.requests) {
    if (places[object] != order.end()) {
      ++hits;
      order.splice(order.begin(), order, places[object]);
      continue;
    }
    order.push_front(object);
    places[object] = order.begin();
    used += trace.sizes[object];
    while (used > budget) {
      used -= trace.sizes[order.back()];
      places[order.back()] = order.end();
      order.pop_back();
    }
  }
  return ratio(hits, trace);
}

// Who is asked for again last of all leaves first. With sizes that differ this is near the optimum, not above it.
double belady(const Trace& trace, std::uint64_t budget) {
  std::vector<std::size_t> next(trace.requests.size(), kNever);
  std::vector<std::size_t> seen(trace.sizes.size(), kNever);
  for (std::size_t i = trace.requests.size(); i-- > 0;) next[i] = std::exchange(seen[trace.requests[i]], i);
  std::set<std::pair<std::size_t, std::uint32_t>> kept;  // by next use
  std::uint64_t used = 0;
  std::size_t hits = 0;
  for (std::size_t i = 0; i < trace.requests.size(); ++i) {
    const std::uint32_t object = trace.requests[i];
    if (kept.erase({i, object}) != 0) {
      ++hits;
    } else {
      used += trace.sizes[object];
    }
    kept.emplace(next[i], object);
    while (used > budget || (!kept.empty() && kept.rbegin()->first == kNever)) {
      used -= trace.sizes[kept.rbegin()->second];
      kept.erase(std::prev(kept.end()));
    }
  }
  return ratio(hits, trace);
}

TEST(EvictionSimulator, HitsAsOftenAsItShould) {
  std::printf("%-16s %5s %7s %7s %7s %10s\n", "trace", "room", "ours", "lru", "belady", "of belady");
  for (const double skew : {0.8, 1.0, 1.2}) {
    for (const Pattern pattern : {Pattern::plain, Pattern::scans, Pattern::loops}) {
      const Trace trace = TraceMaker(skew, pattern).make();
      for (const std::uint64_t percent : {1, 5, 10, 25}) {
        const std::uint64_t budget = trace.bytes * percent / 100;
        const double own = ours(trace, budget);
        const double recent = lru(trace, budget);
        const double optimum = belady(trace, budget);
        const std::string what = trace.name + " " + std::to_string(percent) + "%";
        std::printf("%-16s %4d%% %7.3f %7.3f %7.3f %10.3f\n", trace.name.c_str(), static_cast<int>(percent), own,
                    recent, optimum, own / optimum);
        EXPECT_GE(own, pattern == Pattern::plain ? 0.98 * recent : recent) << what;
        EXPECT_LE(own, optimum) << what;
        EXPECT_GE(own, (skew < 1 ? 0.67 : 0.8) * optimum) << what;
      }
    }
  }
}

}  // namespace
}  // namespace pontage::cache
