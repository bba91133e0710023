// What a client must keep to while it sends a request body, on any protocol, and how long to wait for more of it.
// Plain values; any thread.
#pragma once

#include <cstdint>

#include "src/net/fiber.h"
#include "src/net/stream.h"
#include "src/util/error.h"

namespace pontage::frontend {

struct BodyRules {
  std::uint64_t limit = 0;     // bytes
  std::uint64_t idle_ms = 0;   // 0: no deadline
  std::uint64_t min_rate = 0;  // bytes a second after a grace of 5 s; 0: off
};

// How long the next wait may last, and what it means when it did.
struct BodyPatience {
  std::uint64_t ms = 0;
  bool by_rate = false;
};

// `bytes` have come in `waited_ms` of waiting.
inline BodyPatience body_patience(const BodyRules& rules, std::uint64_t bytes, std::uint64_t waited_ms) noexcept {
  constexpr std::uint64_t kRateGraceMs = 5000;
  if (rules.min_rate == 0) return {rules.idle_ms, false};
  const std::uint64_t allowed = kRateGraceMs + bytes * 1000 / rules.min_rate;
  const std::uint64_t left = allowed > waited_ms ? allowed - waited_ms : 1;
  if (rules.idle_ms == 0 || left < rules.idle_ms) return {left, true};
  return {rules.idle_ms, false};
}

// What a wait that did not end in `ready` means.
inline util::Error body_wait_error(net::WaitResult waited, const BodyPatience& patience) noexcept {
  if (waited == net::WaitResult::timeout && patience.by_rate) {
    return {.kind = util::ErrorKind::too_slow, .source = util::Source::client, .detail = "min_rate"};
  }
  return net::wait_error(waited, util::Source::client, "body_idle");
}

}  // namespace pontage::frontend
