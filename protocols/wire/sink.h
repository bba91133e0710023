// Where encoders append: a fixed span of the caller's memory. Running out of room sets a flag and drops
// the rest, so an encoder needs no error path; the caller checks `overflowed()` once at the end and may
// try again with more room. Owns nothing; one thread at a time.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace pontage::wire {

class Sink {
 public:
  explicit Sink(std::span<char> room) noexcept
      : begin_(room.data()), at_(room.data()), end_(room.data() + room.size()) {}

  void append(std::string_view text) noexcept {
    if (text.size() > static_cast<std::size_t>(end_ - at_)) {
      overflow();
      return;
    }
    if (!text.empty()) std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void append(char c) noexcept {
    if (at_ == end_) {
      overflow();
      return;
    }
    *at_++ = c;
  }
  void append_u8(std::uint8_t v) noexcept { append(static_cast<char>(v)); }
  void append_u16be(std::uint16_t v) noexcept {
    append_u8(static_cast<std::uint8_t>(v >> 8));
    append_u8(static_cast<std::uint8_t>(v));
  }
  void append_decimal(std::uint64_t v) noexcept { append_number(v, 10); }
  void append_hex(std::uint64_t v) noexcept { append_number(v, 16); }

  // Bytes written so far; a place to go back to or to patch (see patch_u16be).
  std::size_t size() const noexcept { return static_cast<std::size_t>(at_ - begin_); }
  std::size_t room() const noexcept { return static_cast<std::size_t>(end_ - at_); }
  std::string_view view() const noexcept { return {begin_, size()}; }
  bool overflowed() const noexcept { return overflowed_; }
  // Forgets everything after `size` bytes. `size` must not exceed size().
  void truncate(std::size_t size) noexcept { at_ = begin_ + size; }
  // Overwrites two bytes already written at `offset`.
  void patch_u16be(std::size_t offset, std::uint16_t v) noexcept {
    begin_[offset] = static_cast<char>(v >> 8);
    begin_[offset + 1] = static_cast<char>(v & 0xff);
  }

 private:
  void overflow() noexcept {
    overflowed_ = true;
    at_ = end_;
  }
  void append_number(std::uint64_t v, int base) noexcept {
    char digits[20];
    const auto done = std::to_chars(digits, digits + sizeof digits, v, base);
    append(std::string_view(digits, static_cast<std::size_t>(done.ptr - digits)));
  }

  char* begin_;
  char* at_;
  char* end_;
  bool overflowed_ = false;
};

}  // namespace pontage::wire
