// Why a head could not be written as one AJP packet (ADAPTERS A6, A27). Plain values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pontage::ajp13 {

struct EncodeRefusal {
  enum class Reason : std::uint8_t {
    too_large,         // more than packet_size: 431 to the client, the server is not to blame (A27)
    unencodable_name,  // a header name of 0xA000 bytes or more: 431 (A6)
    bad_target,        // a byte in path or query that must be %-encoded: 400 (A11)
    no_room,           // the sink is smaller than the packet: the caller's mistake
  };
  Reason reason = Reason::too_large;
  std::string_view header;      // the name of the biggest (or the unencodable) field; a view of the caller's list
  std::size_t header_size = 0;  // bytes of its name and value together
  std::size_t packet_size_needed =
      0;  // whole packet, as a packet_size setting; may exceed kMaxPacket: then nothing helps
};

}  // namespace pontage::ajp13
