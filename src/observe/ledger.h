// Where one exchange's time went. The phases partition the total: every suspended interval is charged to what was
// awaited, every running one to the gateway, and the delay between an event and our turn to handle it to the loop.
// Costs one cycle stamp at each suspend and resume. Owned by the Exchange, driven by net::Fiber on the worker's thread.
#pragma once

#include <array>
#include <cstdint>

#include "src/util/clock.h"

namespace pontage::observe {

// What a coroutine waits for. `running` and `loop` are the gateway's own: together they are the toll.
enum class Phase : std::uint8_t { running, loop, client, queue, connect, server, disk, count_ };
inline constexpr std::size_t kPhases = static_cast<std::size_t>(Phase::count_);
constexpr const char* to_string(Phase phase) {
  constexpr std::array<const char*, kPhases> kNames{"running", "loop", "client", "queue", "connect", "server", "disk"};
  return kNames[static_cast<std::size_t>(phase)];
}

class Ledger {
 public:
  // The exchange begins: its first byte was noticed at `noticed`, and we came to it now.
  void begin(util::Cycles noticed) noexcept {
    spent_.fill(0);
    waiting_ = {Phase::running, Phase::running};
    started_ = noticed;
    last_ = util::cycles();
    charge(Phase::loop, last_ - noticed);
  }
  // Coroutine `slot` (0 the way itself, 1 the request pump) suspends, waiting for `what`.
  void suspend(unsigned slot, Phase what) noexcept {
    waiting_[slot] = what;
    if (waiting_[0] == Phase::running) return;  // the pump paused inside the way's running time
    if (slot == 0 && pump_ && waiting_[1] == Phase::running) return;
    const util::Cycles now = util::cycles();
    charge(Phase::running, now - last_);
    last_ = now;
  }
  // Coroutine `slot` resumes in the loop turn that began at `turn`.
  void resume(unsigned slot, util::Cycles turn) noexcept {
    if (waiting_[0] != Phase::running) {
      const util::Cycles now = util::cycles();
      const util::Cycles noticed = turn > last_ && turn < now ? turn : last_;
      charge(awaited(), noticed - last_);
      charge(Phase::loop, now - noticed);
      last_ = now;
    }
    waiting_[slot] = Phase::running;
  }
  void pump_started() noexcept { pump_ = true; }
  void pump_ended() noexcept {
    pump_ = false;
    waiting_[1] = Phase::running;
    if (waiting_[0] == Phase::running) return;
    const util::Cycles now = util::cycles();  // it ended in a turn of its own
    charge(Phase::running, now - last_);
    last_ = now;
  }
  // The last byte is out. Returns the total in cycles; total == the sum of all phases.
  util::Cycles end() noexcept {
    const util::Cycles now = util::cycles();
    charge(Phase::running, now - last_);
    last_ = now;
    return now - started_;
  }

  util::Cycles spent(Phase phase) const noexcept { return spent_[static_cast<std::size_t>(phase)]; }
  // What the gateway itself cost.
  util::Cycles toll() const noexcept { return spent(Phase::running) + spent(Phase::loop); }

 private:
  void charge(Phase phase, util::Cycles cycles) noexcept { spent_[static_cast<std::size_t>(phase)] += cycles; }
  // With both coroutines waiting, the server comes before the client.
  Phase awaited() const noexcept {
    if (!pump_ || waiting_[1] == Phase::running) return waiting_[0];
    if (waiting_[0] == Phase::server || waiting_[1] == Phase::server) return Phase::server;
    return waiting_[0];
  }

  std::array<util::Cycles, kPhases> spent_{};
  util::Cycles started_ = 0;
  util::Cycles last_ = 0;
  std::array<Phase, 2> waiting_{Phase::running, Phase::running};
  bool pump_ = false;
};

}  // namespace pontage::observe
