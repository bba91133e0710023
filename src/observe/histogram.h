// Log-linear histograms of durations: 16 cells an octave from 4 us on, 256 ns wide below, up to 137 s; the cell that a
// latency bound of the export falls into is split there, so the exported buckets are exact. A worker writes its own
// HistogramCells, one thread only, with a handful of instructions; the scraper adds them up in HistogramTotals at any
// time. Nothing here locks or allocates. A total read during a write may miss the newest values, or hold a value whose
// duration is not yet in the sum.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace pontage::observe {

// Upper bounds of the exported buckets in nanoseconds, inclusive ("le"): 50 us to 10 s. The last one stands for +Inf.
inline constexpr std::size_t kLatencyBounds = 17;
inline constexpr std::array<std::uint64_t, kLatencyBounds + 1> kLatencyBoundsNs{
    50'000,        100'000,        250'000,
    500'000,       1'000'000,      2'500'000,
    5'000'000,     10'000'000,     25'000'000,
    50'000'000,    100'000'000,    250'000'000,
    500'000'000,   1'000'000'000,  2'500'000'000,
    5'000'000'000, 10'000'000'000, std::numeric_limits<std::uint64_t>::max()};

namespace detail {

inline constexpr unsigned kUnitBits = 8;    // 256 ns
inline constexpr unsigned kSubBits = 4;     // 16 cells an octave
inline constexpr unsigned kTopOctave = 28;  // of 256 ns: up to 2^37 ns
inline constexpr std::size_t kSteps = (kTopOctave - kSubBits + 2) << kSubBits;

// The step of the log-linear scale that `ns` falls on, before the split at the bounds.
constexpr std::size_t step_of(std::uint64_t ns) noexcept {
  const std::uint64_t v = ns >> kUnitBits;
  if (v < (1U << kSubBits)) return static_cast<std::size_t>(v);
  const auto octave = static_cast<unsigned>(std::bit_width(v)) - 1;
  if (octave > kTopOctave) return kSteps - 1;
  return ((octave - kSubBits + 1) << kSubBits) + ((v >> (octave - kSubBits)) & ((1U << kSubBits) - 1));
}
// The smallest duration on `step`; kSteps gives the end of the scale.
constexpr std::uint64_t step_begin(std::size_t step) noexcept {
  if (step < (1U << kSubBits)) return std::uint64_t{step} << kUnitBits;
  const std::size_t shift = (step >> kSubBits) - 1;
  return (std::uint64_t{(1U << kSubBits) + (step & ((1U << kSubBits) - 1))} << shift) << kUnitBits;
}
// How many bounds lie below each step.
constexpr std::array<std::uint8_t, kSteps + 1> make_bounds_below() {
  std::array<std::uint8_t, kSteps + 1> below{};
  for (std::size_t step = 0; step <= kSteps; ++step) {
    std::uint8_t n = 0;
    while (n < kLatencyBounds && (step == kSteps || step_of(kLatencyBoundsNs[n]) < step)) ++n;
    below[step] = n;
  }
  return below;
}
inline constexpr std::array<std::uint8_t, kSteps + 1> kBoundsBelow = make_bounds_below();

}  // namespace detail

inline constexpr std::size_t kHistogramCells = detail::kSteps + kLatencyBounds;

// The exported bucket of a duration: an index into kLatencyBoundsNs.
constexpr std::size_t bucket_of(std::uint64_t ns) noexcept {
  const std::size_t below = detail::kBoundsBelow[detail::step_of(ns)];
  return below + (ns > kLatencyBoundsNs[below] ? 1 : 0);
}
// Every bound met so far has split a step, so the cell is the step moved up by the bucket.
constexpr std::size_t cell_of(std::uint64_t ns) noexcept {
  const std::size_t step = detail::step_of(ns);
  const std::size_t below = detail::kBoundsBelow[step];
  return step + below + (ns > kLatencyBoundsNs[below] ? 1 : 0);
}

// Adds to a cell that only the calling thread writes: plain instructions, yet legal to read from elsewhere.
inline void bump(std::atomic<std::uint64_t>& cell, std::uint64_t n) noexcept {
  cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

class alignas(64) HistogramCells {
 public:
  // One duration in nanoseconds. The owning worker only.
  void record(std::uint64_t ns) noexcept {
    bump(cells_[cell_of(ns)], 1);
    bump(sum_, ns);
  }

 private:
  friend class HistogramTotals;
  std::atomic<std::uint64_t> sum_{0};
  std::array<std::atomic<std::uint64_t>, kHistogramCells> cells_{};
};

class HistogramTotals {
 public:
  // From any thread, also while `cells` is being written.
  void add(const HistogramCells& cells) noexcept {
    sum_ += cells.sum_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < kHistogramCells; ++i) cells_[i] += cells.cells_[i].load(std::memory_order_relaxed);
  }
  // Nanoseconds.
  std::uint64_t sum() const noexcept { return sum_; }
  std::uint64_t count() const noexcept;
  // How many durations fell in each exported bucket (not cumulative).
  std::array<std::uint64_t, kLatencyBounds + 1> buckets() const noexcept;
  // The duration in nanoseconds that a share `q` (0..1) of all is not above, to 1/16; 0 when there is none.
  std::uint64_t quantile(double q) const noexcept;

 private:
  std::uint64_t sum_ = 0;
  std::array<std::uint64_t, kHistogramCells> cells_{};
};

}  // namespace pontage::observe
