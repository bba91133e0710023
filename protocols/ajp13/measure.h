// A sink that only counts: the same walk that writes a packet tells how large it would have been. Used when a packet
// was refused, so the usual way measures nothing. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocols/ajp13/codes.h"
#include "protocols/ajp13/encode_refusal.h"
#include "protocols/message/header.h"

namespace pontage::ajp13 {

class Measure {
 public:
  void append(std::string_view text) noexcept { size_ += text.size(); }
  void append_u8(std::uint8_t) noexcept { size_ += 1; }
  void append_u16be(std::uint16_t) noexcept { size_ += 2; }
  void append_decimal(std::uint64_t value) noexcept {
    do ++size_;
    while (value /= 10);
  }
  void patch_u16be(std::size_t, std::uint16_t) noexcept {}
  bool overflowed() const noexcept { return false; }
  std::size_t size() const noexcept { return size_; }

 private:
  std::size_t size_ = 0;
};

// The refusal of a packet of `size` bytes that carried `headers`: no_room when it would have fitted into `packet_size`.
inline EncodeRefusal refusal(std::size_t size, std::size_t packet_size, const message::HeaderList& headers) noexcept {
  EncodeRefusal why;
  why.reason = size > packet_size ? EncodeRefusal::Reason::too_large : EncodeRefusal::Reason::no_room;
  why.packet_size_needed = size > kMaxPacket ? size : fit_packet_size(size);
  for (const auto& field : headers) {
    const auto bytes = field.name.size() + field.value.size();
    if (bytes <= why.header_size) continue;
    why.header = field.name;
    why.header_size = bytes;
  }
  return why;
}

// The first field whose name would read as a code, or nullptr (A6).
inline const message::Header* unencodable(const message::HeaderList& headers) noexcept {
  for (const auto& field : headers) {
    if (field.name.size() >= kFirstHeaderCode) return &field;
  }
  return nullptr;
}

}  // namespace pontage::ajp13
