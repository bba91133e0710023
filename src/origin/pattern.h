// The bytes that /bytes/N consists of: byte i is kAlphabet[i % 64], so that a test can check any piece of any answer.
// Pure; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pontage::origin {

inline constexpr std::string_view kAlphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n";
inline constexpr std::size_t kPatternPiece = 64 * 1024;

// Up to kPatternPiece bytes; a piece starts at a multiple of 64. Lives for ever.
inline std::string_view pattern(std::uint64_t size) noexcept {
  static_assert(kAlphabet.size() == 64);
  static const auto kBlock = [] {
    std::array<char, kPatternPiece> block{};
    for (std::size_t i = 0; i < block.size(); ++i) block[i] = kAlphabet[i % kAlphabet.size()];
    return block;
  }();
  return {kBlock.data(), static_cast<std::size_t>(std::min<std::uint64_t>(size, kPatternPiece))};
}

// 64-bit FNV-1a, to be fed piece by piece.
class Checksum {
 public:
  void add(std::string_view bytes) noexcept {
    for (const char c : bytes) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  std::uint64_t value() const noexcept { return value_; }
  // 16 hexadecimal digits.
  std::array<char, 16> hex() const noexcept {
    std::array<char, 16> digits{};
    for (std::size_t i = 0; i < digits.size(); ++i) digits[i] = "0123456789abcdef"[value_ >> (60 - 4 * i) & 15];
    return digits;
  }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

}  // namespace pontage::origin
