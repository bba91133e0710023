#include "src/net/wheel.h"

#include <algorithm>
#include <bit>

namespace pontage::net {

void Wheel::schedule(Timer& timer, std::uint64_t due_ms) noexcept {
  timer.unlink();
  timer.due_ = due_ms;
  put(timer);
}

void Wheel::put(Timer& timer) noexcept {
  // Rounded up, so that nothing fires early; never behind the hand, never more than one turn ahead.
  const std::uint64_t wanted = (timer.due_ + kTickMs - 1) / kTickMs;
  const std::uint64_t tick = std::clamp(wanted, tick_, tick_ + kSlots - 1);
  const std::size_t slot = tick % kSlots;
  slots_[slot].push_back(timer);
  occupied_[slot / 64] |= 1ULL << (slot % 64);
}

void Wheel::advance(std::uint64_t now_ms) noexcept {
  const std::uint64_t now_tick = now_ms / kTickMs;
  util::IntrusiveList<Timer> due;
  std::size_t visited = 0;
  while (tick_ <= now_tick && visited < kSlots) {
    const std::size_t slot = tick_ % kSlots;
    due.splice_back(slots_[slot]);
    occupied_[slot / 64] &= ~(1ULL << (slot % 64));
    ++tick_;
    ++visited;
  }
  tick_ = std::max(tick_, now_tick + 1);
  while (Timer* timer = due.pop_front()) {
    if (timer->due_ > now_ms) {
      put(*timer);
    } else {
      timer->fire();
    }
  }
}

std::uint64_t Wheel::next_in(std::uint64_t now_ms, std::uint64_t cap) const noexcept {
  const std::size_t start = tick_ % kSlots;
  for (std::size_t step = 0; step < kSlots;) {
    const std::size_t slot = (start + step) % kSlots;
    const std::uint64_t bits = occupied_[slot / 64] >> (slot % 64);
    if (bits == 0) {
      step += 64 - slot % 64;
      continue;
    }
    step += static_cast<std::size_t>(std::countr_zero(bits));
    const std::uint64_t at_ms = (tick_ + step) * kTickMs;
    return std::min(cap, at_ms > now_ms ? at_ms - now_ms : 0);
  }
  return cap;
}

}  // namespace pontage::net
