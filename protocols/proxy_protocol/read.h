// The two forms of a PROXY header, whole, taken apart: for the decoder. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "protocols/proxy_protocol/header.h"
#include "protocols/wire/decode_error.h"
#include "protocols/wire/expected.h"

namespace pontage::proxy_protocol {

inline constexpr std::string_view kBeginningV1 = "PROXY ";
inline constexpr std::string_view kSignatureV2{"\r\n\r\n\0\r\nQUIT\n", 12};
inline constexpr std::size_t kFixedV2 = 16;  // signature, version and command, family, length

// The types of what follows the addresses in version 2.
enum class Type : std::uint8_t {
  alpn = 0x01,
  authority = 0x02,
  crc32c = 0x03,
  unique_id = 0x05,
  ssl = 0x20,
  ssl_version = 0x21,
  ssl_common_name = 0x22,
  ssl_cipher = 0x23,
};

// `line` ends with LF and is at most kLargestV1 long.
std::optional<wire::DecodeError> read_v1(std::string_view line, Header& header);
// The size of the whole header, from its first kFixedV2 bytes.
wire::Expected<std::size_t, wire::DecodeError> read_v2_size(std::string_view fixed);
// `bytes` are as many as read_v2_size has said.
std::optional<wire::DecodeError> read_v2(std::string_view bytes, Header& header);

// Castagnoli's CRC (RFC 3720 B.4), which goes on from `before`.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0) noexcept;

}  // namespace pontage::proxy_protocol
