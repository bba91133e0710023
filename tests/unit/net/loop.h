// A reactor in the test's own thread: a scenario runs on a fiber until it ends, other fibers beside it. One scenario to
// a Loop, because a stopped reactor stays stopped.
#pragma once

#include <utility>

#include "src/net/fiber.h"
#include "src/net/reactor.h"
#include "src/net/stream.h"

namespace pontage::net::testing {

class Loop {
 public:
  // Runs until `scenario` has ended, however that comes about.
  void run(Task<void> scenario) {
    launch(
        fiber, std::move(scenario), [](void* r) noexcept { static_cast<Reactor*>(r)->stop(); }, &reactor);
    reactor.run();
  }

  Reactor reactor;
  Fiber fiber{reactor};  // the scenario's
};

// A fiber beside the scenario; says when it has ended.
class Side {
 public:
  explicit Side(Reactor& reactor) noexcept : fiber(reactor) {}
  void start(Task<void> task) {
    launch(
        fiber, std::move(task), [](void* side) noexcept { static_cast<Side*>(side)->ended = true; }, this);
  }

  Fiber fiber;
  bool ended = false;
};

// Lets the loop make `count` turns: whatever is ready has run by then.
inline Task<void> turns(int count) {
  for (int i = 0; i < count; ++i) co_await Yield();
}

// Something to wait for that a test completes by hand.
class Signal {
 public:
  class Await : public Wait {
   public:
    Await(Signal& signal, Deadline deadline) noexcept : Wait(observe::Phase::queue, deadline), signal_(&signal) {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
      if (!suspend(coroutine)) return false;
      signal_->waiting_ = this;
      return true;
    }
    WaitResult await_resume() const noexcept { return result(); }

   private:
    void withdraw() noexcept override { signal_->waiting_ = nullptr; }
    Signal* signal_;
  };

  Await wait(Deadline deadline = kNoDeadline) noexcept { return Await(*this, deadline); }
  // Completes the wait; nothing happens when nobody waits.
  void set() noexcept {
    if (waiting_ != nullptr) waiting_->complete(WaitResult::ready);
  }
  bool awaited() const noexcept { return waiting_ != nullptr; }

 private:
  Await* waiting_ = nullptr;
};

}  // namespace pontage::net::testing
