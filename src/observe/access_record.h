// One line of the access log: what is known about an exchange when its last byte is out, and its two forms. The views
// point into the exchange's arena and config and are only read during the call. Pure; any thread; nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocols/wire/sink.h"

namespace pontage::observe {

// Every byte from outside may be in here; the formats escape. An empty text is "-" in the combined form and "" in JSON.
struct AccessRecord {
  std::uint64_t time_ns = 0;  // when the request began, CLOCK_REALTIME
  std::string_view request_id{};
  std::string_view trace_id{};
  std::string_view client{};  // the address that the request is for, after X-Forwarded-For from trusted proxies
  std::string_view peer{};    // the address that connected
  std::string_view method{};  // empty when the request line was not understood
  std::string_view host{};
  std::string_view target{};   // as received
  std::string_view version{};  // HTTP/1.1
  std::uint16_t status = 0;    // 0: ended before there was one
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::string_view route{};
  std::string_view backend{};
  std::string_view server{};
  std::uint32_t attempts = 0;
  std::string_view cache{};
  std::string_view referer{};
  std::string_view user_agent{};
  std::string_view end{};  // why it ended, two letters
  std::string_view error{};

  struct Phases {  // microseconds
    std::uint64_t parse = 0;
    std::uint64_t queue = 0;
    std::uint64_t connect = 0;
    std::uint64_t send = 0;
    std::uint64_t wait = 0;
    std::uint64_t transfer = 0;
    std::uint64_t loop = 0;
    std::uint64_t total = 0;
    std::uint64_t toll = 0;
  } phases{};
};

// Longer fields are cut before they are escaped, so that a line of either form fits in kMaxAccessLine whatever is in
// it.
inline constexpr std::size_t kMaxLoggedTarget = 8192;
inline constexpr std::size_t kMaxLoggedHeader = 2048;  // referer, user agent
inline constexpr std::size_t kMaxLoggedField = 256;    // the others
inline constexpr std::size_t kMaxAccessLine = 128 * 1024;

// Apache's combined form with a line feed: `client - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 2326 "referer"
// "agent"`. The time is UTC. No status is 000, no bytes are "-".
void format_combined(const AccessRecord& record, wire::Sink& out) noexcept;
// One JSON object with a line feed (RFC 8259); every field is always there, the t_* in microseconds.
void format_json(const AccessRecord& record, wire::Sink& out) noexcept;

}  // namespace pontage::observe
