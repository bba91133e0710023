// The eight bytes in front of every record (FastCGI 1.0, 3.3), outgoing. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "protocols/fastcgi/codes.h"

namespace pontage::fastcgi {

// `content` is at most 65535 bytes; the caller appends them and the padding. The reserved byte is zero (F1).
constexpr std::array<char, kHeader> record_header(RecordType type, std::size_t content,
                                                  std::uint8_t padding = 0) noexcept {
  return {kVersion,
          static_cast<char>(type),
          0,
          kRequestId,
          static_cast<char>(content >> 8),
          static_cast<char>(content & 0xff),
          static_cast<char>(padding),
          0};
}

}  // namespace pontage::fastcgi
