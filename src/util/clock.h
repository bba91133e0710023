// Time as cheaply as it can be had: CPU cycles for the ledger (one instruction), converted with a rate measured once at
// start. Any thread.
#pragma once

#include <cstdint>
#include <ctime>

namespace pontage::util {

// CLOCK_MONOTONIC and CLOCK_REALTIME, in nanoseconds.
std::uint64_t monotonic_ns() noexcept;
std::uint64_t realtime_ns() noexcept;

using Cycles = std::uint64_t;

inline Cycles cycles() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();  // <x86intrin.h> would add a second to every compilation
#else
  return monotonic_ns();
#endif
}

// Measures the cycle rate against CLOCK_MONOTONIC (about 5 ms, the first call only). Call once before threads start.
void calibrate_cycles() noexcept;
std::uint64_t cycles_to_ns(Cycles cycles) noexcept;

}  // namespace pontage::util
