// The scrape: Metrics as prometheus-cpp sees it, with build_info and the process_* values. Called on the control
// thread; blocks for as long as /proc takes. Nothing on the request path comes here.
#pragma once

#include <string>
#include <vector>

#include <prometheus/collectable.h>

namespace pontage::observe {

class Metrics;

class Collectable final : public prometheus::Collectable {
 public:
  // `metrics` must outlive this. `version` becomes a label of build_info.
  Collectable(const Metrics& metrics, std::string version);

  // Families without a value are left out. The process_* names carry no prefix: they are the ones every dashboard
  // knows.
  std::vector<prometheus::MetricFamily> Collect() const override;
  // The same in the Prometheus text format 0.0.4 (text/plain; version=0.0.4; charset=utf-8).
  std::string render_text() const;

 private:
  const Metrics& metrics_;
  std::string version_;
};

}  // namespace pontage::observe
