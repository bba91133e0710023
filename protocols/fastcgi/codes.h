// The numbers of FastCGI 1.0 (section 8), both directions. Plain values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pontage::fastcgi {

inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::uint8_t kRequestId = 1;  // one request a connection: servers in use do not multiplex (F1)
inline constexpr std::size_t kHeader = 8;
// The most content we put into a record: a multiple of eight below 2^16 (F2).
inline constexpr std::size_t kMostContent = 65528;

inline constexpr std::uint8_t kResponder = 1;  // the only role of the three that is in use (F19)

enum class RecordType : std::uint8_t {
  begin_request = 1,
  abort_request = 2,
  end_request = 3,
  params = 4,
  stdin_ = 5,
  stdout_ = 6,
  stderr_ = 7,
};

enum class ProtocolStatus : std::uint8_t {
  request_complete = 0,
  cannot_multiplex = 1,
  overloaded = 2,
  unknown_role = 3
};

// Lengths of names and values from here on take four bytes, and the first of those has this bit set.
inline constexpr std::size_t kLongLength = 0x80;

// Whether the application may keep the connection after the request.
enum class Keep : std::uint8_t { no, yes };

}  // namespace pontage::fastcgi
