#include "src/cache/watch_table.h"

#include <algorithm>
#include <set>

namespace pontage::cache {
namespace {

constexpr int kRefused = -1;
// An event is handled once for each meaning. Links that lead back up ("a -> .") give one directory endless names.
constexpr std::size_t kMostUses = 256;

}  // namespace

bool WatchTable::knows(std::uint32_t root, std::string_view directory) const {
  return by_name_.find(Order::View(root, directory)) != by_name_.end();
}

bool WatchTable::add(int wd, const Watched& use) {
  const auto known = by_watch_.find(wd);
  const std::size_t meanings = known == by_watch_.end() ? 0 : known->second.size();
  if (meanings != 0 && std::find(known->second.begin(), known->second.end(), use) != known->second.end()) return true;
  if (use.anchor.empty()) {
    if (!has_room() || meanings >= kMostUses) {
      refuse(use.root, use.directory);
      return false;
    }
    if (!by_name_.emplace(Name(use.root, use.directory), wd).second) return false;
    ++watched_;
  }
  by_watch_[wd].push_back(use);
  return true;
}

void WatchTable::refuse(std::uint32_t root, std::string_view directory) {
  if (refused() < limit_) by_name_.emplace(Name(root, directory), kRefused);
}

const std::vector<Watched>* WatchTable::uses(int wd) const {
  const auto at = by_watch_.find(wd);
  return at == by_watch_.end() ? nullptr : &at->second;
}

// With its watch all other meanings of the watch go.
void WatchTable::drop_watch(Names::const_iterator name, std::vector<Watched>& doubtful, std::vector<int>& unused) {
  if (name->second == kRefused) return;
  --watched_;
  const auto at = by_watch_.find(name->second);
  if (at == by_watch_.end()) return;  // gone with another of its names
  for (Watched& use : at->second) {
    const bool own = use.anchor.empty() && use.root == name->first.first && use.directory == name->first.second;
    if (!own) doubtful.push_back(std::move(use));
  }
  unused.push_back(at->first);
  by_watch_.erase(at);
}

std::pair<WatchTable::Names::iterator, WatchTable::Names::iterator> WatchTable::below(std::uint32_t root,
                                                                                      std::string_view directory) {
  const std::string first = std::string(directory) + '/';
  const std::string past = std::string(directory) + static_cast<char>('/' + 1);
  return {by_name_.lower_bound(Order::View(root, first)), by_name_.lower_bound(Order::View(root, past))};
}

bool WatchTable::drop_below(std::uint32_t root, std::string_view directory, std::vector<Watched>& doubtful,
                            std::vector<int>& unused) {
  const std::size_t before = by_name_.size();
  const auto own = by_name_.find(Order::View(root, directory));
  if (own != by_name_.end()) {
    drop_watch(own, doubtful, unused);
    by_name_.erase(own);
  }
  auto [at, end] = below(root, directory);
  while (at != end) {
    drop_watch(at, doubtful, unused);
    at = by_name_.erase(at);
  }
  return by_name_.size() != before;
}

void WatchTable::drop_root(std::uint32_t root, std::vector<int>& unused) {
  std::erase_if(by_name_, [&](const auto& name) {
    const bool gone = name.second == kRefused || name.first.first == root;
    if (gone && name.second != kRefused) --watched_;
    return gone;
  });
  for (auto at = by_watch_.begin(); at != by_watch_.end();) {
    std::erase_if(at->second, [root](const Watched& use) { return use.root == root; });
    if (!at->second.empty()) {
      ++at;
      continue;
    }
    unused.push_back(at->first);
    at = by_watch_.erase(at);
  }
}

void WatchTable::drop_all(std::vector<int>& unused) {
  for (const auto& watch : by_watch_) unused.push_back(watch.first);
  by_watch_.clear();
  by_name_.clear();
  watched_ = 0;
}

std::vector<std::uint32_t> WatchTable::roots() const {
  std::set<std::uint32_t> roots;
  for (const auto& watch : by_watch_) {
    for (const Watched& use : watch.second) roots.insert(use.root);
  }
  return {roots.begin(), roots.end()};
}

}  // namespace pontage::cache
