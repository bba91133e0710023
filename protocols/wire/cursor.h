// A bounds-checked reader over bytes that somebody else owns. Every getter checks what remains first and
// returns nullopt without moving when there is too little (ADAPTERS A3). Views live as long as the input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pontage::wire {

class Cursor {
 public:
  explicit Cursor(std::string_view input) noexcept : input_(input) {}

  std::size_t remaining() const noexcept { return input_.size() - at_; }
  std::size_t position() const noexcept { return at_; }

  std::optional<std::uint8_t> u8() noexcept {
    if (remaining() < 1) return std::nullopt;
    return static_cast<std::uint8_t>(input_[at_++]);
  }
  std::optional<std::uint16_t> u16be() noexcept {
    if (remaining() < 2) return std::nullopt;
    const auto high = static_cast<std::uint8_t>(input_[at_]);
    const auto low = static_cast<std::uint8_t>(input_[at_ + 1]);
    at_ += 2;
    return static_cast<std::uint16_t>(high << 8 | low);
  }
  std::optional<std::uint16_t> peek_u16be() const noexcept {
    Cursor copy = *this;
    return copy.u16be();
  }
  std::optional<std::string_view> bytes(std::size_t n) noexcept {
    if (remaining() < n) return std::nullopt;
    const auto view = input_.substr(at_, n);
    at_ += n;
    return view;
  }

 private:
  std::string_view input_;
  std::size_t at_ = 0;
};

}  // namespace pontage::wire
