// What one fiber of a session waits for and another brings about: bytes of a body, a window that opened. Whoever waits
// looks again when it was raised; raising it with nobody waiting does nothing. Worker's thread.
#pragma once

#include "src/net/fiber.h"

namespace pontage::frontend {

class Signal {
 public:
  class Await;
  Signal() = default;
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  Await wait(net::Deadline deadline, observe::Phase phase) noexcept;
  void raise() noexcept;

 private:
  Await* waiter_ = nullptr;
};

class Signal::Await final : public net::Wait {
 public:
  Await(Signal& signal, net::Deadline deadline, observe::Phase phase) noexcept
      : Wait(phase, deadline), signal_(&signal) {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    if (!suspend(coroutine)) return false;
    signal_->waiter_ = this;
    return true;
  }
  net::WaitResult await_resume() const noexcept { return result(); }

 private:
  void withdraw() noexcept override { signal_->waiter_ = nullptr; }
  Signal* signal_;
};

inline Signal::Await Signal::wait(net::Deadline deadline, observe::Phase phase) noexcept {
  return Await(*this, deadline, phase);
}
inline void Signal::raise() noexcept {
  if (waiter_ != nullptr) waiter_->complete(net::WaitResult::ready);
}

}  // namespace pontage::frontend
