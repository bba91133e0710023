#include "src/http/random_id.h"

#include <cstdint>

#include <sys/random.h>

namespace pontage::http {
namespace {

// splitmix64, seeded once a thread from the kernel.
std::uint64_t next_random() noexcept {
  static thread_local std::uint64_t state = [] {
    std::uint64_t seed = 0;
    if (::getrandom(&seed, sizeof seed, 0) != sizeof seed) seed = reinterpret_cast<std::uintptr_t>(&seed);
    return seed;
  }();
  state += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

void random_hex(std::span<char> out) noexcept {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::uint64_t bits = 0;
  int left = 0;
  for (char& c : out) {
    if (left == 0) {
      bits = next_random();
      left = 16;
    }
    c = kDigits[bits & 15];
    bits >>= 4;
    --left;
  }
}

}  // namespace pontage::http
