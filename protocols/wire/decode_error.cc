#include "protocols/wire/decode_error.h"

namespace pontage::wire {

std::string_view to_string(DecodeError error) noexcept {
  switch (error) {
    case DecodeError::malformed_request_line: return "malformed_request_line";
    case DecodeError::malformed_status_line: return "malformed_status_line";
    case DecodeError::unsupported_version: return "unsupported_version";
    case DecodeError::malformed_target: return "malformed_target";
    case DecodeError::malformed_header: return "malformed_header";
    case DecodeError::missing_host: return "missing_host";
    case DecodeError::duplicate_host: return "duplicate_host";
    case DecodeError::malformed_host: return "malformed_host";
    case DecodeError::bad_content_length: return "bad_content_length";
    case DecodeError::bad_transfer_encoding: return "bad_transfer_encoding";
    case DecodeError::unsupported_transfer_encoding: return "unsupported_transfer_encoding";
    case DecodeError::length_and_transfer_encoding: return "length_and_transfer_encoding";
    case DecodeError::malformed_chunk: return "malformed_chunk";
    case DecodeError::malformed_trailer: return "malformed_trailer";
    case DecodeError::bad_magic: return "bad_magic";
    case DecodeError::bad_length: return "bad_length";
    case DecodeError::bad_string: return "bad_string";
    case DecodeError::unknown_code: return "unknown_code";
    case DecodeError::unexpected_message: return "unexpected_message";
    case DecodeError::request_line_too_long: return "request_line_too_long";
    case DecodeError::header_too_long: return "header_too_long";
    case DecodeError::headers_too_long: return "headers_too_long";
    case DecodeError::too_many_headers: return "too_many_headers";
    case DecodeError::chunk_line_too_long: return "chunk_line_too_long";
    case DecodeError::packet_too_long: return "packet_too_long";
    case DecodeError::truncated: return "truncated";
  }
  return "unknown";
}

}  // namespace pontage::wire
