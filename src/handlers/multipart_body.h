// multipart/byteranges: several ranges of a file in one body (RFC 9110 14.6, 15.3.7.2). Worker's thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/cache/file_entry.h"
#include "src/http/exchange.h"
#include "src/http/range.h"

namespace pontage::handlers {

struct Multipart {
  http::BodyPtr body;             // lives in the exchange's arena, holds the entry
  std::uint64_t size = 0;         // bytes
  std::string_view content_type;  // with the boundary; in the arena
};

// The parts say `entry`'s Content-Type. The boundary is 128 random bits made after the file was chosen: that it stands
// in the file has a chance of 2^-128 for each place.
Multipart make_multipart(http::Exchange& exchange, cache::EntryRef entry, const http::RangeSet& ranges);

}  // namespace pontage::handlers
