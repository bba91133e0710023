// AJP strings: a 16-bit length, the bytes, a NUL that the length does not count; or FFFF alone for "none" (ADAPTERS
// A3). Used by the encoders and decoders of this folder. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocols/ajp13/codes.h"
#include "protocols/wire/cursor.h"

namespace pontage::ajp13 {

// What a path or a query may hold: visible ASCII, no fragment. Whatever else must have been %-encoded (A11, V5).
constexpr bool is_target_char(char c) noexcept {
  return c > 0x20 && c < 0x7f && c != '#';
}

// `Out` is a wire::Sink or anything that counts like one. A text of 0xFFFF bytes or more makes a packet above
// kMaxPacket, which the encoders refuse, so its cut length is never sent.
template <class Out>
void append_string(Out& out, std::string_view text) noexcept {
  out.append_u16be(static_cast<std::uint16_t>(text.size()));
  out.append(text);
  out.append_u8(0);
}

// A string after its length has been read. nullopt when it does not fit into the payload together with its NUL, or when
// that NUL is another byte.
inline std::optional<std::string_view> read_text(wire::Cursor& in, std::uint16_t length) noexcept {
  const auto text = in.bytes(std::size_t{length} + 1);
  if (!text || text->back() != '\0') return std::nullopt;
  return text->substr(0, length);
}

// "None" and the empty string both give an empty view; the first has data() == nullptr. The view lives as long as the
// input.
inline std::optional<std::string_view> read_string(wire::Cursor& in) noexcept {
  const auto length = in.u16be();
  if (!length) return std::nullopt;
  if (*length == kNullString) return std::string_view{};
  return read_text(in, *length);
}

}  // namespace pontage::ajp13
