// The counters. Metrics, one for the process, hands out series; a WorkerMetrics, one per thread, counts; read() sums
// the workers.
//
// Series are registered at config load, under a lock, on the control thread, and live to the end of the process: asking
// again for the same family and labels gives the same series, so counts survive a reload. Counting is a load, an add
// and a store in a cell that only this thread writes: no lock, no allocation, no shared cache line. Cells live in
// blocks that registration adds to every worker and never moves. A scrape may see a request in one series and not yet
// in another; each value by itself only grows. SeriesId and HistogramId reach the workers with the config that asked
// for them, so a worker always finds the block.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/observe/families.h"
#include "src/observe/histogram.h"
#include "src/observe/request_table.h"

namespace pontage::observe {

// Where a series counts. The default ones are a bin: counting there is legal and shown nowhere.
struct SeriesId {
  std::uint32_t cell = 0;
};
struct HistogramId {
  std::uint32_t cell = 0;
};

inline constexpr std::size_t kMaxSeries = 16384;
inline constexpr std::size_t kMaxHistograms = 4096;

// One thread's counters. Made by Metrics::add_worker, which owns it; every call on the thread it was made for.
class alignas(64) WorkerMetrics {
 public:
  WorkerMetrics() = default;
  WorkerMetrics(const WorkerMetrics&) = delete;
  WorkerMetrics& operator=(const WorkerMetrics&) = delete;

  void add(SeriesId id, std::uint64_t n = 1) noexcept { bump(cell(id), n); }
  // A gauge is the sum over all workers: what one adds another may take away.
  void gauge_add(SeriesId id, std::int64_t n) noexcept { bump(cell(id), static_cast<std::uint64_t>(n)); }
  void observe(HistogramId id, std::uint64_t nanoseconds) noexcept {
    histograms_[id.cell / kHistogramBlock]
        .load(std::memory_order_acquire)
        ->at[id.cell % kHistogramBlock]
        .record(nanoseconds);
  }
  void count_request(const RequestKey& key) noexcept { requests_.count(key); }

 private:
  friend class Metrics;
  static constexpr std::size_t kCellBlock = 512;
  static constexpr std::size_t kHistogramBlock = 8;

  struct alignas(64) CellBlock {
    std::array<std::atomic<std::uint64_t>, kCellBlock> at{};
  };
  struct HistogramBlock {
    std::array<HistogramCells, kHistogramBlock> at{};
  };

  std::atomic<std::uint64_t>& cell(SeriesId id) const noexcept {
    return cells_[id.cell / kCellBlock].load(std::memory_order_acquire)->at[id.cell % kCellBlock];
  }
  void make_room(std::size_t cells, std::size_t histograms);

  std::array<std::atomic<CellBlock*>, kMaxSeries / kCellBlock> cells_{};
  std::array<std::atomic<HistogramBlock*>, kMaxHistograms / kHistogramBlock> histograms_{};
  RequestTable requests_;
  std::vector<std::unique_ptr<CellBlock>> cell_blocks_;  // the owners; touched under the lock of Metrics only
  std::vector<std::unique_ptr<HistogramBlock>> histogram_blocks_;
};

// One exported value.
struct Sample {
  Family family;
  std::span<const std::string> labels;         // values, in the order of FamilyInfo::label_names
  double value = 0;                            // scaled; counters and gauges
  const HistogramTotals* histogram = nullptr;  // for histograms, else null
};

class Metrics {
 public:
  Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  ~Metrics();

  // The values of a family's labels, in the order of the table. Control thread; any thread may call. All of these throw
  // std::invalid_argument when the family is of another type or has another number of labels. Past kMaxSeries or
  // kMaxHistograms they give the bin and count it in series_dropped_total.
  template <class... Labels>
  SeriesId counter(Family family, const Labels&... labels) {
    return {cell(family, FamilyType::counter,
                 std::array<std::string_view, sizeof...(labels)>{std::string_view(labels)...})};
  }
  template <class... Labels>
  SeriesId gauge(Family family, const Labels&... labels) {
    return {
        cell(family, FamilyType::gauge, std::array<std::string_view, sizeof...(labels)>{std::string_view(labels)...})};
  }
  template <class... Labels>
  HistogramId histogram(Family family, const Labels&... labels) {
    return {cell(family, FamilyType::histogram,
                 std::array<std::string_view, sizeof...(labels)>{std::string_view(labels)...})};
  }

  // Takes a value back out of the export when dropped. After the destructor the function is not running and will not
  // run.
  class Callback {
   public:
    Callback() noexcept = default;
    Callback(Callback&& other) noexcept : metrics_(std::exchange(other.metrics_, nullptr)), id_(other.id_) {}
    Callback& operator=(Callback&& other) noexcept;
    ~Callback();

   private:
    friend class Metrics;
    Callback(Metrics& metrics, std::uint64_t id) noexcept : metrics_(&metrics), id_(id) {}
    Metrics* metrics_ = nullptr;
    std::uint64_t id_ = 0;
  };
  using Read = std::function<double()>;
  // A value that is read at scrape, on the scraping thread, in exported units, and added to what the workers counted.
  // `read` is called under the lock of Metrics: it must not throw or call Metrics, and must not take a lock under which
  // Metrics is called. Several with the same labels are merged as the family says. `labels` as above. The same for a
  // counter that somebody else holds.
  [[nodiscard]] Callback callback_gauge(Family family, std::initializer_list<std::string_view> labels, Read read);
  [[nodiscard]] Callback callback_counter(Family family, std::initializer_list<std::string_view> labels, Read read);

  // Ids for RequestKey; the same name gives the same id for ever. "" and "none" are 0, and so is every name after 65535
  // others.
  std::uint16_t intern_listener(std::string_view name) { return intern(listeners_, name); }
  std::uint16_t intern_route(std::string_view name) { return intern(routes_, name); }
  std::uint16_t intern_backend(std::string_view name) { return intern(backends_, name); }

  // The counters of one more thread; valid as long as Metrics. Any thread.
  WorkerMetrics& add_worker();

  // Calls `each` for every value, family by family in the order of the table. Any thread; holds the lock of Metrics.
  void read(const std::function<void(const Sample&)>& each) const;

 private:
  struct Series {
    Family family;
    std::vector<std::string> labels;
    std::uint32_t cell = 0;  // 0 when only callbacks give the value
    std::vector<std::pair<std::uint64_t, Read>> callbacks;
  };
  struct Names {
    std::vector<std::string> names{"none"};
    std::unordered_map<std::string, std::uint16_t> ids{{"none", 0}, {"", 0}};
  };

  std::uint32_t cell(Family family, FamilyType type, std::span<const std::string_view> labels);
  Series* series(Family family, FamilyType type, std::span<const std::string_view> labels);
  Callback callback(Family family, FamilyType type, std::initializer_list<std::string_view> labels, Read read);
  void remove_callback(std::uint64_t id) noexcept;
  std::uint16_t intern(Names& names, std::string_view name);
  void read_series(const Series& series, const std::function<void(const Sample&)>& each) const;
  void read_requests(const std::function<void(const Sample&)>& each) const;
  double dropped() const noexcept;

  mutable std::mutex mutex_;
  std::array<std::vector<std::unique_ptr<Series>>, kFamilies> series_;
  std::unordered_map<std::string, Series*> by_labels_;
  std::vector<std::unique_ptr<WorkerMetrics>> workers_;
  std::size_t cells_ = 1;  // the first is the bin
  std::size_t histograms_ = 1;
  std::uint64_t next_callback_ = 1;
  std::uint64_t dropped_ = 0;
  Names listeners_;
  Names routes_;
  Names backends_;
};

}  // namespace pontage::observe
