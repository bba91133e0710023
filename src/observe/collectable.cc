#include "src/observe/collectable.h"

#include <limits>
#include <utility>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "src/observe/metrics.h"
#include "src/observe/process_stats.h"

namespace pontage::observe {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricType type_of(FamilyType type) {
  switch (type) {
    case FamilyType::counter: return MetricType::Counter;
    case FamilyType::gauge: return MetricType::Gauge;
    case FamilyType::histogram: return MetricType::Histogram;
  }
  return MetricType::Untyped;
}

ClientMetric::Histogram export_histogram(const HistogramTotals& totals, double scale) {
  ClientMetric::Histogram out;
  std::uint64_t so_far = 0;
  const auto buckets = totals.buckets();
  out.bucket.reserve(buckets.size());
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    so_far += buckets[i];
    // Dividing gives the double nearest to 0.00025, which multiplying by 1e-9 does not.
    const double bound =
        i < kLatencyBounds ? static_cast<double>(kLatencyBoundsNs[i]) / 1e9 : std::numeric_limits<double>::infinity();
    out.bucket.push_back({so_far, bound});
  }
  out.sample_count = so_far;
  out.sample_sum = static_cast<double>(totals.sum()) * scale;
  return out;
}

ClientMetric export_sample(const Sample& sample) {
  const FamilyInfo& about = info(sample.family);
  ClientMetric metric;
  metric.label.reserve(sample.labels.size());
  for (std::size_t i = 0; i < sample.labels.size(); ++i) {
    metric.label.push_back({std::string(about.label_names[i]), sample.labels[i]});
  }
  switch (about.type) {
    case FamilyType::counter: metric.counter.value = sample.value; break;
    case FamilyType::gauge: metric.gauge.value = sample.value; break;
    case FamilyType::histogram: metric.histogram = export_histogram(*sample.histogram, about.scale); break;
  }
  return metric;
}

MetricFamily single(std::string name, std::string help, MetricType type, double value) {
  MetricFamily family{std::move(name), std::move(help), type, {}};
  ClientMetric metric;
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  family.metric.push_back(std::move(metric));
  return family;
}

void append_process(std::vector<MetricFamily>& out) {
  const ProcessStats stats = read_process_stats();
  const auto gauge = [&out](const char* name, const char* help, double value) {
    out.push_back(single(name, help, MetricType::Gauge, value));
  };
  out.push_back(
      single("process_cpu_seconds_total", "User and system CPU time.", MetricType::Counter, stats.cpu_seconds));
  gauge("process_open_fds", "Open file descriptors.", static_cast<double>(stats.open_fds));
  gauge("process_max_fds", "Limit of open file descriptors.", static_cast<double>(stats.max_fds));
  gauge("process_resident_memory_bytes", "Resident memory.", static_cast<double>(stats.resident_bytes));
  gauge("process_virtual_memory_bytes", "Virtual memory.", static_cast<double>(stats.virtual_bytes));
  gauge("process_start_time_seconds", "Start of the process, since 1970.", stats.start_time_seconds);
}

}  // namespace

Collectable::Collectable(const Metrics& metrics, std::string version)
    : metrics_(metrics), version_(std::move(version)) {}

std::vector<MetricFamily> Collectable::Collect() const {
  std::vector<MetricFamily> out;
  Family last = Family::count_;
  metrics_.read([&](const Sample& sample) {
    if (sample.family != last) {
      const FamilyInfo& about = info(sample.family);
      out.push_back({"pontage_" + std::string(about.name), std::string(about.help), type_of(about.type), {}});
      last = sample.family;
    }
    out.back().metric.push_back(export_sample(sample));
  });
  out.push_back(single("pontage_build_info", "Always 1; the labels tell the build.", MetricType::Gauge, 1));
  out.back().metric.front().label = {{"version", version_}, {"compiler", __VERSION__}};
  append_process(out);
  return out;
}

std::string Collectable::render_text() const {
  return prometheus::TextSerializer().Serialize(Collect());
}

}  // namespace pontage::observe
