// The timer wheel: all deadlines of one worker. Slots of 4 ms over 8 s; a deadline beyond that is put in again when its
// slot comes round. Scheduling and removal are O(1) and allocate nothing. Owned by the Reactor; the worker's thread
// only.
#pragma once

#include <array>
#include <cstdint>

#include "src/net/fiber.h"
#include "src/util/intrusive_list.h"

namespace pontage::net {

class Wheel {
 public:
  static constexpr std::uint64_t kTickMs = 4;
  static constexpr std::size_t kSlots = 2048;

  explicit Wheel(std::uint64_t now_ms) noexcept : tick_(now_ms / kTickMs) {}

  // Fires at `due` (milliseconds) or up to one tick later; moves the timer when it is scheduled already.
  void schedule(Timer& timer, std::uint64_t due_ms) noexcept;
  // Fires everything due by `now_ms`.
  void advance(std::uint64_t now_ms) noexcept;
  // Milliseconds until something may fire, at most `cap`.
  std::uint64_t next_in(std::uint64_t now_ms, std::uint64_t cap) const noexcept;

 private:
  static constexpr std::size_t kWords = kSlots / 64;
  void put(Timer& timer) noexcept;

  std::array<util::IntrusiveList<Timer>, kSlots> slots_;
  std::array<std::uint64_t, kWords> occupied_{};  // a set bit: the slot may hold something
  std::uint64_t tick_;                            // the first tick not fired yet
};

}  // namespace pontage::net
