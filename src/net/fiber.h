// A Fiber is one chain of coroutines: what it waits for at present, its deadline, whether it is cancelled, and whose
// time it spends. An exchange is at most two fibers: the way itself and a request pump. A Wait is what a suspended
// fiber waits for (socket, pool queue, timer ...). Cancellation is one mechanism: cancel() ends the current wait and
// every later one at once with `cancelled`; the coroutine unwinds by itself. Resumption always goes through the
// reactor's ready queue, never from inside the caller. Owned by sessions and connections; the worker's thread only.
#pragma once

#include <coroutine>
#include <cstdint>

#include "src/net/task.h"
#include "src/observe/ledger.h"
#include "src/util/intrusive_list.h"

namespace pontage::net {

class Reactor;

using Deadline = std::uint64_t;  // milliseconds of Reactor::now_ms(); kNoDeadline waits for ever
inline constexpr Deadline kNoDeadline = ~Deadline{0};

enum class WaitResult : std::uint8_t { ready, timeout, cancelled };

// An entry of the timer wheel. fire() is called by the reactor on the worker's thread, once.
class Timer : public util::ListHook {
 public:
  using Fire = void (*)(Timer&) noexcept;
  explicit Timer(Fire on_fire) noexcept : fire_(on_fire) {}
  void fire() noexcept { fire_(*this); }
  std::uint64_t due() const noexcept { return due_; }

 private:
  friend class Wheel;
  Fire fire_;
  std::uint64_t due_ = 0;  // milliseconds
};

class Wait;

class Fiber : private Timer {
 public:
  explicit Fiber(Reactor& reactor) noexcept;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Ends the present wait and all later ones with `cancelled`.
  void cancel() noexcept;
  bool cancelled() const noexcept { return cancelled_; }
  // Ends the present wait, if any, with `cancelled`; later waits are not touched. For news that the fiber should look
  // at.
  void interrupt() noexcept;
  // Lets the fiber wait again, e.g. for an orderly close after the work was cancelled.
  void revive() noexcept { cancelled_ = false; }
  bool waiting() const noexcept { return current_ != nullptr; }
  Reactor& reactor() const noexcept { return *reactor_; }

  // The ledger that this fiber's time is charged to, and its slot there (0 the way itself, 1 the pump); nullptr outside
  // an exchange.
  void charge_to(observe::Ledger* account, std::uint8_t slot = 0) noexcept {
    ledger_ = account;
    slot_ = slot;
  }
  observe::Ledger* ledger() const noexcept { return ledger_; }

 private:
  friend class Wait;
  static void on_timer(Timer& timer) noexcept;
  void arm(Deadline deadline) noexcept;

  Reactor* reactor_;
  Wait* current_ = nullptr;
  observe::Ledger* ledger_ = nullptr;
  Deadline deadline_ = kNoDeadline;
  std::uint8_t slot_ = 0;
  bool cancelled_ = false;
};

// The base of every awaiter that suspends. Derived awaiters call suspend() from await_suspend and are completed by
// complete().
class Wait : public util::ListHook {
 public:
  Wait(observe::Phase phase, Deadline deadline) noexcept : deadline_(deadline), phase_(phase) {}

  // Wakes the fiber with `result`: it resumes in this or the next loop turn. The first call counts.
  void complete(WaitResult result) noexcept;
  // Called by the reactor: runs the coroutine on.
  void resume() noexcept;

 protected:
  ~Wait() = default;
  // False when the fiber is cancelled already (result() says so): do not suspend then.
  template <class Promise>
  bool suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    coroutine_ = coroutine;
    return enter(coroutine.promise().fiber);
  }
  WaitResult result() const noexcept { return result_; }
  // Forgets this wait where it was registered (a descriptor, a queue); called once, before completion takes effect.
  virtual void withdraw() noexcept {}

 private:
  friend class Fiber;
  bool enter(Fiber* fiber) noexcept;

  std::coroutine_handle<> coroutine_;
  Fiber* fiber_ = nullptr;
  Deadline deadline_;
  observe::Phase phase_;
  WaitResult result_ = WaitResult::ready;
  bool completed_ = false;
};

// Starts `task` as the root of `fiber` and runs it as far as it goes. `done(argument)` is called when it has ended, as
// its last act: it may destroy the fiber and whatever the task worked on. An exception that reaches the root is logged
// and counts as an end.
void launch(Fiber& fiber, Task<void> task, void (*done)(void*) noexcept, void* argument);

}  // namespace pontage::net
