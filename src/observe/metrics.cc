#include "src/observe/metrics.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "protocols/message/method.h"

namespace pontage::observe {

void WorkerMetrics::make_room(std::size_t cells, std::size_t histograms) {
  while (cell_blocks_.size() * kCellBlock < cells) {
    cell_blocks_.push_back(std::make_unique<CellBlock>());
    cells_[cell_blocks_.size() - 1].store(cell_blocks_.back().get(), std::memory_order_release);
  }
  while (histogram_blocks_.size() * kHistogramBlock < histograms) {
    histogram_blocks_.push_back(std::make_unique<HistogramBlock>());
    histograms_[histogram_blocks_.size() - 1].store(histogram_blocks_.back().get(), std::memory_order_release);
  }
}

Metrics::Metrics() = default;
Metrics::~Metrics() = default;

// Finds or adds; nullptr when there are too many. Under the lock.
Metrics::Series* Metrics::series(Family family, FamilyType type, std::span<const std::string_view> labels) {
  const FamilyInfo& about = info(family);
  if (about.type != type || about.label_count() != labels.size() || family == Family::requests_total) {
    throw std::invalid_argument("metric " + std::string(about.name) + ": wrong type or number of labels");
  }
  std::string key(1, static_cast<char>(family));
  for (const std::string_view label : labels) key.append(std::to_string(label.size())).append(1, ':').append(label);
  if (const auto found = by_labels_.find(key); found != by_labels_.end()) return found->second;
  if (by_labels_.size() >= kMaxSeries + kMaxHistograms) return nullptr;
  auto made = std::make_unique<Series>(Series{family, {labels.begin(), labels.end()}, 0, {}});
  auto& family_series = series_[static_cast<std::size_t>(family)];
  family_series.push_back(std::move(made));
  by_labels_.emplace(std::move(key), family_series.back().get());
  return family_series.back().get();
}

std::uint32_t Metrics::cell(Family family, FamilyType type, std::span<const std::string_view> labels) {
  const std::lock_guard lock(mutex_);
  const bool histogram = type == FamilyType::histogram;
  std::size_t& next = histogram ? histograms_ : cells_;
  Series* const found = series(family, type, labels);
  if (found != nullptr && found->cell != 0) return found->cell;
  if (found == nullptr || next >= (histogram ? kMaxHistograms : kMaxSeries)) {
    ++dropped_;
    return 0;
  }
  for (const auto& worker : workers_)
    worker->make_room(cells_ + (histogram ? 0 : 1), histograms_ + (histogram ? 1 : 0));
  found->cell = static_cast<std::uint32_t>(next++);
  return found->cell;
}

Metrics::Callback Metrics::callback_gauge(Family family, std::initializer_list<std::string_view> labels, Read read) {
  return callback(family, FamilyType::gauge, labels, std::move(read));
}

Metrics::Callback Metrics::callback_counter(Family family, std::initializer_list<std::string_view> labels, Read read) {
  return callback(family, FamilyType::counter, labels, std::move(read));
}

Metrics::Callback Metrics::callback(Family family, FamilyType type, std::initializer_list<std::string_view> labels,
                                    Read read) {
  const std::lock_guard lock(mutex_);
  Series* const found = series(family, type, {labels.begin(), labels.size()});
  if (found == nullptr) {
    ++dropped_;
    return {};
  }
  found->callbacks.emplace_back(next_callback_, std::move(read));
  return {*this, next_callback_++};
}

void Metrics::remove_callback(std::uint64_t id) noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& family : series_) {
    for (const auto& one : family) {
      if (std::erase_if(one->callbacks, [id](const auto& callback) { return callback.first == id; }) != 0) return;
    }
  }
}

Metrics::Callback& Metrics::Callback::operator=(Callback&& other) noexcept {
  if (this != &other) {
    if (metrics_ != nullptr) metrics_->remove_callback(id_);
    metrics_ = std::exchange(other.metrics_, nullptr);
    id_ = other.id_;
  }
  return *this;
}

Metrics::Callback::~Callback() {
  if (metrics_ != nullptr) metrics_->remove_callback(id_);
}

std::uint16_t Metrics::intern(Names& names, std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (const auto found = names.ids.find(std::string(name)); found != names.ids.end()) return found->second;
  if (names.names.size() > 0xffff) {
    ++dropped_;
    return 0;
  }
  const auto id = static_cast<std::uint16_t>(names.names.size());
  names.names.emplace_back(name);
  names.ids.emplace(name, id);
  return id;
}

WorkerMetrics& Metrics::add_worker() {
  const std::lock_guard lock(mutex_);
  auto worker = std::make_unique<WorkerMetrics>();
  worker->make_room(cells_, histograms_);
  workers_.push_back(std::move(worker));
  return *workers_.back();
}

void Metrics::read(const std::function<void(const Sample&)>& each) const {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < kFamilies; ++i) {
    const auto family = static_cast<Family>(i);
    if (family == Family::requests_total) {
      read_requests(each);
    } else if (family == Family::series_dropped_total) {
      each({.family = family, .labels = {}, .value = dropped()});
    } else {
      for (const auto& one : series_[i]) read_series(*one, each);
    }
  }
}

void Metrics::read_series(const Series& series, const std::function<void(const Sample&)>& each) const {
  const FamilyInfo& about = info(series.family);
  if (series.cell == 0 && series.callbacks.empty()) return;
  if (about.type == FamilyType::histogram) {
    HistogramTotals totals;
    const std::size_t block = series.cell / WorkerMetrics::kHistogramBlock;
    for (const auto& worker : workers_) {
      totals.add(worker->histogram_blocks_[block]->at[series.cell % WorkerMetrics::kHistogramBlock]);
    }
    each({.family = series.family, .labels = series.labels, .histogram = &totals});
    return;
  }
  double value = 0;
  if (series.cell != 0) {
    std::uint64_t sum = 0;
    for (const auto& worker : workers_) sum += worker->cell({series.cell}).load(std::memory_order_relaxed);
    value = about.type == FamilyType::gauge ? static_cast<double>(static_cast<std::int64_t>(sum))
                                            : static_cast<double>(sum);
    value *= about.scale;
  }
  const std::size_t first = about.merge == Merge::sum || series.callbacks.empty() ? 0 : series.callbacks.size() - 1;
  for (std::size_t i = first; i < series.callbacks.size(); ++i) value += series.callbacks[i].second();
  each({.family = series.family, .labels = series.labels, .value = value});
}

void Metrics::read_requests(const std::function<void(const Sample&)>& each) const {
  // By label text: the methods that have no label of their own fall together here.
  std::map<std::array<std::string, kMaxLabels>, std::uint64_t> sums;
  const auto name_of = [](const Names& names, std::uint16_t id) {
    return id < names.names.size() ? names.names[id] : names.names[0];
  };
  for (const auto& worker : workers_) {
    worker->requests_.each([&](const RequestKey& key, std::uint64_t count) {
      sums[{name_of(listeners_, key.listener), name_of(routes_, key.route), name_of(backends_, key.backend),
            std::string(message::metric_label(key.method)), key.code == 0 ? "other" : std::to_string(key.code)}] +=
          count;
    });
  }
  for (const auto& [labels, count] : sums) {
    each({.family = Family::requests_total, .labels = labels, .value = static_cast<double>(count)});
  }
}

double Metrics::dropped() const noexcept {
  std::uint64_t all = dropped_;
  for (const auto& worker : workers_) all += worker->requests_.dropped();
  return static_cast<double>(all);
}

}  // namespace pontage::observe
