#include "src/observe/histogram.h"

#include <cmath>
#include <numeric>

namespace pontage::observe {

std::uint64_t HistogramTotals::count() const noexcept {
  return std::accumulate(cells_.begin(), cells_.end(), std::uint64_t{0});
}

std::array<std::uint64_t, kLatencyBounds + 1> HistogramTotals::buckets() const noexcept {
  std::array<std::uint64_t, kLatencyBounds + 1> counts{};
  for (std::size_t step = 0; step < detail::kSteps; ++step) {
    // A step with a bound inside it has one cell more.
    for (std::size_t bucket = detail::kBoundsBelow[step]; bucket <= detail::kBoundsBelow[step + 1]; ++bucket) {
      counts[bucket] += cells_[step + bucket];
    }
  }
  return counts;
}

std::uint64_t HistogramTotals::quantile(double q) const noexcept {
  const std::uint64_t all = count();
  if (all == 0) return 0;
  const double wanted = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(all));
  const auto rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
  std::uint64_t seen = 0;
  for (std::size_t step = 0; step < detail::kSteps; ++step) {
    const std::size_t last = detail::kBoundsBelow[step + 1];
    for (std::size_t bucket = detail::kBoundsBelow[step]; bucket <= last; ++bucket) {
      seen += cells_[step + bucket];
      if (seen >= rank) return bucket < last ? kLatencyBoundsNs[bucket] : detail::step_begin(step + 1) - 1;
    }
  }
  return detail::step_begin(detail::kSteps) - 1;
}

}  // namespace pontage::observe
