#include "src/util/clock.h"

#include <atomic>

namespace pontage::util {
namespace {

std::uint64_t read_clock(clockid_t id) noexcept {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(t.tv_nsec);
}

// Nanoseconds per cycle as a 32.32 fixed-point number; 0 until calibrated.
std::atomic<std::uint64_t> ns_per_cycle_q32{0};

}  // namespace

std::uint64_t monotonic_ns() noexcept {
  return read_clock(CLOCK_MONOTONIC);
}
std::uint64_t realtime_ns() noexcept {
  return read_clock(CLOCK_REALTIME);
}

void calibrate_cycles() noexcept {
  if (ns_per_cycle_q32.load(std::memory_order_relaxed) != 0) return;
  const std::uint64_t ns0 = read_clock(CLOCK_MONOTONIC_RAW);
  const Cycles c0 = cycles();
  std::uint64_t ns1 = ns0;
  while (ns1 - ns0 < 5'000'000) ns1 = read_clock(CLOCK_MONOTONIC_RAW);
  const Cycles spent = cycles() - c0;
  ns_per_cycle_q32.store(((ns1 - ns0) << 32) / (spent == 0 ? 1 : spent), std::memory_order_relaxed);
}

std::uint64_t cycles_to_ns(Cycles count) noexcept {
  const std::uint64_t rate = ns_per_cycle_q32.load(std::memory_order_relaxed);
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(count) * rate) >> 32);
}

}  // namespace pontage::util
