// Byte ranges of a representation whose size is known (RFC 9110 14; CASES S01, S02). Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocols/message/header.h"

namespace pontage::http {

enum class RangeKind : std::uint8_t {
  whole,          // no range, or one that is ignored (RFC 9110 14.2): 200
  part,           // 206
  unsatisfiable,  // 416
};

struct ByteRange {
  RangeKind kind = RangeKind::whole;
  std::uint64_t first = 0;  // of a part
  std::uint64_t count = 0;  // bytes, at least 1 for a part
};

// What a Range field's `value` asks for from `size` bytes. Malformed values, units other than bytes and lists of ranges
// are ignored; numbers of any length are understood. A suffix of an empty representation is the whole of it.
ByteRange parse_range(std::string_view value, std::uint64_t size) noexcept;
// The same for a request's fields; repeated Range fields are ignored.
ByteRange requested_range(const message::HeaderList& headers, std::uint64_t size) noexcept;

// "bytes 0-49/50" of a part, "bytes */50" of an unsatisfiable range. The view is of `room`.
using ContentRangeRoom = std::array<char, 72>;
std::string_view content_range(const ByteRange& range, std::uint64_t size, ContentRangeRoom& room) noexcept;

}  // namespace pontage::http
