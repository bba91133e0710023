// The second coroutine of an exchange: it sends the request body while the way itself already reads the response.
// Started by a backend connection's round_trip, owned by the Exchange, and always joined before the exchange's memory
// or either stream may go: the session joins it at the end of the exchange. Worker's thread only.
#pragma once

#include "src/net/fiber.h"
#include "src/util/error.h"

namespace pontage::http {

struct Exchange;

class RequestPump {
 public:
  RequestPump(net::Reactor& reactor, Exchange& exchange) noexcept : fiber_(reactor), exchange_(&exchange) {}

  // Runs `body` on its own fiber, at once, as far as it goes.
  void start(net::Task<void> body);
  bool active() const noexcept { return active_; }

  // Called by the pump's own task when it could not send everything. A failure that is not the server's also wakes the
  // way itself.
  void fail(const util::Error& error) noexcept;
  bool failed() const noexcept { return failed_; }
  // Failed on our side of the server: the client's fault, or the gateway's.
  bool failed_here() const noexcept { return failed_ && error_.source != util::Source::server; }
  const util::Error& error() const noexcept { return error_; }

  // Cancels the pump and has `end(argument)` called once it has ended: for a connection that must not go before.
  using End = void (*)(void* argument) noexcept;
  void bury(End end, void* argument) noexcept;

  // Cancels the pump when it still runs and waits until it has ended.
  class Join;
  Join join() noexcept;
  void reset() noexcept;

 private:
  static void on_done(void* self) noexcept;

  net::Fiber fiber_;
  Exchange* exchange_;
  util::Error error_;
  End end_ = nullptr;
  void* end_argument_ = nullptr;
  Join* joining_ = nullptr;
  bool active_ = false;
  bool failed_ = false;
};

class RequestPump::Join : public net::Wait {
 public:
  explicit Join(RequestPump& pump) noexcept : Wait(observe::Phase::client, net::kNoDeadline), pump_(&pump) {}
  bool await_ready() const noexcept { return !pump_->active_; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    waiter_ = coroutine.promise().fiber;
    was_cancelled_ = waiter_->cancelled();
    waiter_->revive();  // ending in order comes before being cancelled; the pump ends at once
    if (!suspend(coroutine)) return false;
    pump_->joining_ = this;
    pump_->fiber_.cancel();
    return true;
  }
  void await_resume() const noexcept {
    if (was_cancelled_) waiter_->cancel();
  }

 private:
  void withdraw() noexcept override { pump_->joining_ = nullptr; }
  RequestPump* pump_;
  net::Fiber* waiter_ = nullptr;
  bool was_cancelled_ = false;
};

inline RequestPump::Join RequestPump::join() noexcept {
  return Join(*this);
}

}  // namespace pontage::http
