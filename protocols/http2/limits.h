// The bounds of one HTTP/2 connection as a server keeps them. Plain values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocols/wire/limits.h"

namespace pontage::http2 {

struct ServerLimits {
  wire::HeadLimits head;
  std::uint32_t streams = 128;               // open at once
  std::uint32_t stream_window = 256 * 1024;  // bytes of one request body that may wait here, at most 2^31-1
  std::size_t memory = 8 * 1024 * 1024;      // what the library may allocate
};

// How much a peer may make us work beside its requests, as a token bucket: frames at once, and a second.
struct FrameBudget {
  std::uint32_t burst;
  std::uint32_t per_second;
};

inline constexpr FrameBudget kResets{256, 32};       // requests begun and given up
inline constexpr FrameBudget kSettings{64, 8};       //
inline constexpr FrameBudget kPings{64, 8};          //
inline constexpr FrameBudget kEmpty{128, 16};        // DATA that brings nothing
inline constexpr FrameBudget kPriority{512, 64};     // PRIORITY, PRIORITY_UPDATE and what we do not know
inline constexpr FrameBudget kWindows{4096, 1024};   // WINDOW_UPDATE; what is sent adds to it
inline constexpr std::uint32_t kContinuations = 16;  // of one header block

}  // namespace pontage::http2
