// Byte ranges of a representation whose size is known (RFC 9110 14; CASES S01, S02). Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "protocols/message/header.h"

namespace pontage::http {

enum class RangeKind : std::uint8_t {
  whole,          // no range, or one that is ignored (RFC 9110 14.2): 200
  part,           // 206, one range or several
  unsatisfiable,  // 416
};

struct ByteRange {
  RangeKind kind = RangeKind::whole;
  std::uint64_t first = 0;  // of a part
  std::uint64_t count = 0;  // bytes, at least 1 for a part
};

// Several, in the order asked for; none overlap.
struct RangeSet {
  static constexpr std::size_t kMost = 64;
  RangeKind kind = RangeKind::whole;
  std::size_t count = 0;  // of a part, at least 1
  std::array<ByteRange, kMost> ranges;
  std::span<const ByteRange> view() const noexcept { return {ranges.data(), count}; }
};

// What a Range field's `value` asks for from `size` bytes. Malformed values and units other than bytes are ignored, and
// so are more ranges than `most` (RFC 9110 14.2; 0 ignores all); numbers of any length are understood. Ranges beyond
// the end are left out. Ranges that overlap, or lie nearer to each other than the head of a part is long, become one. A
// suffix of an empty representation is the whole of it.
RangeSet parse_ranges(std::string_view value, std::uint64_t size, std::size_t most) noexcept;
// The same for a request's fields; repeated Range fields are ignored.
RangeSet requested_ranges(const message::HeaderList& headers, std::uint64_t size, std::size_t most) noexcept;

// "bytes 0-49/50" of a part, "bytes */50" of an unsatisfiable range. The view is of `room`.
using ContentRangeRoom = std::array<char, 72>;
std::string_view content_range(const ByteRange& range, std::uint64_t size, ContentRangeRoom& room) noexcept;

}  // namespace pontage::http
