// The header fields inside FORWARD_REQUEST and SEND_HEADERS: reading with every check, and writing with codes where
// names have them (ADAPTERS A6, A7, X8). Used by the codecs of this folder. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocols/ajp13/codes.h"
#include "protocols/ajp13/strings.h"
#include "protocols/message/header.h"
#include "protocols/wire/cursor.h"
#include "protocols/wire/decode_error.h"
#include "protocols/wire/limits.h"

namespace pontage::ajp13 {

using HeaderOfCode = message::HeaderId (*)(std::uint16_t) noexcept;

// Appends `count` fields to `list`, in order, duplicates kept. Names must be tokens, values free of controls but HTAB;
// views point into the cursor's bytes, or to the name of a code. Errors: too_many_headers, header_too_long,
// headers_too_long, unknown_code, bad_string, malformed_header.
std::optional<wire::DecodeError> read_fields(wire::Cursor& in, std::size_t count, const wire::HeadLimits& limits,
                                             HeaderOfCode header_of, message::HeaderList& list);

// One field; `code` 0 sends the name as text.
template <class Out>
void append_field(Out& out, std::uint16_t code, std::string_view name, std::string_view value) noexcept {
  if (code != 0) {
    out.append_u16be(code);
  } else {
    append_string(out, name);
  }
  append_string(out, value);
}

// A number as a string value, without a buffer of its own.
template <class Out>
void append_number(Out& out, std::uint64_t value) noexcept {
  const auto length_at = out.size();
  out.append_u16be(0);
  const auto start = out.size();
  out.append_decimal(value);
  // A sink that ran out of room may hold less than the two bytes: then there is nothing to patch.
  if (!out.overflowed()) out.patch_u16be(length_at, static_cast<std::uint16_t>(out.size() - start));
  out.append_u8(0);
}

}  // namespace pontage::ajp13
