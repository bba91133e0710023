// Reads one PROXY header, version 1 or 2, from the beginning of a connection, in any pieces. Fed by whoever accepts
// connections from a proxy (src/frontend/proxy_intake); keeps the bytes of the header, which its views point into. One
// thread.
//
// Strict, for what stands here is believed. Errors: bad_magic (no header begins like this), malformed_header (a line of
// version 1, or a checksum, that is wrong), unsupported_version, unknown_code (a command, a family, or a transport
// other than a stream), bad_length (a length that does not fit), header_too_long and packet_too_long (kLargestV1,
// kLargestV2).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "protocols/proxy_protocol/header.h"
#include "protocols/wire/decode_error.h"
#include "protocols/wire/expected.h"

namespace pontage::proxy_protocol {

class Decoder {
 public:
  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  struct Step {
    std::size_t consumed = 0;  // never a byte behind the header
    bool complete = false;
  };
  // After an error it stays failed; complete, it takes nothing any more.
  wire::Expected<Step, wire::DecodeError> decode(std::string_view input);

  // Of a complete one; the views live as long as the decoder.
  const Header& header() const noexcept { return header_; }

 private:
  enum class Kind : std::uint8_t { unknown, v1, v2 };
  std::size_t wanted() const noexcept;
  std::optional<wire::DecodeError> look();
  std::optional<wire::DecodeError> look_at_beginning() noexcept;

  std::string bytes_;
  Header header_;
  Kind kind_ = Kind::unknown;
  std::size_t total_ = 0;  // of version 2, as far as it is known
  bool complete_ = false;
  std::optional<wire::DecodeError> failed_;
};

}  // namespace pontage::proxy_protocol
