// What a request asks of the origin: the segments of its path and the options in its query. Views of the request; pure,
// any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace pontage::origin {

struct Options {
  static constexpr std::uint64_t kUnset = ~std::uint64_t{0};
  std::uint64_t ms = kUnset;  // wait before the answer (for /stream: between its lines), at most 60 s
  std::uint64_t cpu_us = 0;   // compute before the answer, at most 1 s
  std::uint64_t lines = 5;    // of /stream, at most a million
  std::string_view token;     // comes back in X-Token
  std::string_view key;       // of /counter
  bool chunked = false;       // no Content-Length
  bool trailer = false;       // a trailer field after the body, where the protocol has them
  bool close = false;         // the connection ends after the answer
  bool read = false;          // /counter only tells
};

// Unknown names and malformed numbers are passed over. Escapes are not decoded.
Options parse_options(std::string_view query) noexcept;

// Takes the next non-empty segment off `path`, without its path parameters. Empty when there is none.
std::string_view next_segment(std::string_view& path) noexcept;

}  // namespace pontage::origin
