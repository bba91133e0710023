// The bounds a head decoder enforces, in bytes and counts. Plain values; any thread.
#pragma once

#include <cstddef>

namespace pontage::wire {

struct HeadLimits {
  std::size_t request_line = 8 * 1024;  // method, target and version together, without CRLF
  std::size_t header = 16 * 1024;       // one field line
  std::size_t headers = 64 * 1024;      // all field lines together
  std::size_t header_count = 100;
};

}  // namespace pontage::wire
