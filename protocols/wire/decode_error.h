// Why a decoder refused its input. One list for every protocol, so that a status, a log reason and a
// metric label can be chosen in one place (src/http/error_page). Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace pontage::wire {

enum class DecodeError : std::uint8_t {
  malformed_request_line,
  malformed_status_line,
  unsupported_version,
  malformed_target,
  malformed_header,
  missing_host,
  duplicate_host,
  malformed_host,
  bad_content_length,
  bad_transfer_encoding,
  unsupported_transfer_encoding,
  length_and_transfer_encoding,
  malformed_chunk,
  malformed_trailer,
  bad_magic,
  bad_length,
  bad_string,
  unknown_code,
  unexpected_message,
  // Limits; the answer names the one that was hit.
  request_line_too_long,
  header_too_long,
  headers_too_long,
  too_many_headers,
  chunk_line_too_long,
  packet_too_long,
  truncated,
};

// A stable snake_case name, for logs and the `limit_hits_total` and `aborts_total` labels.
std::string_view to_string(DecodeError error) noexcept;

// True for the errors that mean "the input was legal, but larger than a configured limit".
constexpr bool is_limit(DecodeError error) noexcept {
  return error >= DecodeError::request_line_too_long && error <= DecodeError::packet_too_long;
}

}  // namespace pontage::wire
