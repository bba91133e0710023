// The numbers of AJP/1.3: magics, packet types, method, header and attribute codes, sizes (ADAPTERS A1-A8). Both roles
// use them: the gateway (we, towards a container) and the container (`pontage origin`). Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocols/message/header.h"

namespace pontage::ajp13 {

// First two bytes of a packet, by direction (A1).
inline constexpr std::uint16_t kToContainer = 0x1234;
inline constexpr std::uint16_t kToGateway = 0x4142;

// Bytes before the payload: magic and payload length. The length does not count them (A1).
inline constexpr std::size_t kPacketHeader = 4;
// Whole packets, header included (A2). Both ends must be set alike.
inline constexpr std::size_t kMinPacket = 8192;
inline constexpr std::size_t kMaxPacket = 65536;
inline constexpr std::size_t kPacketStep = 1024;

// What a configured size becomes: at least kMinPacket, at most kMaxPacket, rounded up to kPacketStep, as peers do (A2).
constexpr std::size_t fit_packet_size(std::size_t bytes) noexcept {
  if (bytes <= kMinPacket) return kMinPacket;
  if (bytes >= kMaxPacket) return kMaxPacket;
  return (bytes + kPacketStep - 1) / kPacketStep * kPacketStep;
}

// Before the data of a request body packet: header, length. Of a response body chunk: header, type, length; and a NUL
// after.
inline constexpr std::size_t kBodyHeader = kPacketHeader + 2;
inline constexpr std::size_t kChunkHeader = kPacketHeader + 3;

// Most data bytes of one packet, request body out and response body in: 8186 and 8184 of the default (A2).
constexpr std::size_t request_data_room(std::size_t packet_size) noexcept {
  return packet_size - kBodyHeader;
}
constexpr std::size_t response_data_room(std::size_t packet_size) noexcept {
  return packet_size - kChunkHeader - 1;
}

// The first byte of a payload; request body packets have none (A16).
enum class PacketType : std::uint8_t {
  forward_request = 2,
  send_body_chunk = 3,
  send_headers = 4,
  end_response = 5,
  get_body_chunk = 6,
  cpong = 9,
  cping = 10,
};

// What END_RESPONSE says about the connection (A25).
enum class Reuse : std::uint8_t { no, yes };

// The length that means "no string at all" (A3).
inline constexpr std::uint16_t kNullString = 0xffff;
// A name's length from here on reads as a header code, so longer names cannot be sent (A6).
inline constexpr std::uint16_t kFirstHeaderCode = 0xa000;

// Method codes 1..27 are message::Method's values (A5); anything else goes as kStoredMethod and attribute
// stored_method.
inline constexpr std::uint8_t kLastMethodCode = 27;
inline constexpr std::uint8_t kStoredMethod = 0xff;

enum class AttributeCode : std::uint8_t {
  context = 1,
  servlet_path = 2,
  remote_user = 3,
  auth_type = 4,
  query_string = 5,
  route = 6,
  ssl_cert = 7,
  ssl_cipher = 8,
  ssl_session = 9,
  req_attribute = 10,
  ssl_key_size = 11,  // a 16-bit number; every other value is a string (A8)
  secret = 12,
  stored_method = 13,
  end = 255,
};

// Header <-> code, 0xA001..0xA00E for requests (A6), 0xA001..0xA00B for responses (A7). 0 and `unknown` when there is
// none.
std::uint16_t request_header_code(message::HeaderId id) noexcept;
std::uint16_t response_header_code(message::HeaderId id) noexcept;
message::HeaderId request_header_of(std::uint16_t code) noexcept;
message::HeaderId response_header_of(std::uint16_t code) noexcept;

}  // namespace pontage::ajp13
