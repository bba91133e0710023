// Why a server ends a connection of its own accord. Plain values; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace pontage::http2 {

enum class Fault : std::uint8_t {
  none,
  protocol,       // PROTOCOL_ERROR
  stream_closed,  // STREAM_CLOSED
  library,        // the library found an error and says so itself, or ran out of memory
  // Floods: ENHANCE_YOUR_CALM.
  resets,
  continuations,
  settings,
  pings,
  empty_frames,
  priorities,
  window_updates,
  header_fields,
};
inline constexpr std::size_t kFaults = static_cast<std::size_t>(Fault::header_fields) + 1;

constexpr bool is_flood(Fault fault) noexcept {
  return fault >= Fault::resets;
}

// The label of limit_hits_total for a flood; what logs say of the others.
constexpr std::string_view to_string(Fault fault) noexcept {
  switch (fault) {
    case Fault::none: return "none";
    case Fault::protocol: return "h2_protocol";
    case Fault::stream_closed: return "h2_stream_closed";
    case Fault::library: return "h2_library";
    case Fault::resets: return "h2_resets";
    case Fault::continuations: return "h2_continuations";
    case Fault::settings: return "h2_settings";
    case Fault::pings: return "h2_pings";
    case Fault::empty_frames: return "h2_empty_frames";
    case Fault::priorities: return "h2_priorities";
    case Fault::window_updates: return "h2_window_updates";
    case Fault::header_fields: return "h2_header_fields";
  }
  return "unknown";
}

}  // namespace pontage::http2
