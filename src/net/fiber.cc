#include "src/net/fiber.h"

#include <exception>

#include "src/net/reactor.h"
#include "src/observe/log.h"

namespace pontage::net {

Fiber::Fiber(Reactor& reactor) noexcept : Timer(&Fiber::on_timer), reactor_(&reactor) {}

void Fiber::cancel() noexcept {
  cancelled_ = true;
  if (current_ != nullptr) current_->complete(WaitResult::cancelled);
}

void Fiber::interrupt() noexcept {
  if (current_ != nullptr) current_->complete(WaitResult::cancelled);
}

void Fiber::arm(Deadline deadline) noexcept {
  deadline_ = deadline;
  if (deadline == kNoDeadline) return;
  // Lazy: an entry that fires earlier looks at deadline_ again; only a nearer deadline moves it.
  if (Timer::linked() && Timer::due() <= deadline) return;
  reactor_->wheel().schedule(*this, deadline);
}

void Fiber::on_timer(Timer& timer) noexcept {
  auto& fiber = static_cast<Fiber&>(timer);
  if (fiber.current_ == nullptr || fiber.deadline_ == kNoDeadline) return;
  if (fiber.deadline_ > fiber.reactor_->now_ms()) {
    fiber.reactor_->wheel().schedule(timer, fiber.deadline_);
    return;
  }
  fiber.current_->complete(WaitResult::timeout);
}

bool Wait::enter(Fiber* fiber) noexcept {
  fiber_ = fiber;
  if (fiber->cancelled_) {
    result_ = WaitResult::cancelled;
    return false;
  }
  fiber->current_ = this;
  fiber->arm(deadline_);
  if (fiber->ledger_ != nullptr) fiber->ledger_->suspend(fiber->slot_, phase_);
  return true;
}

void Wait::complete(WaitResult result) noexcept {
  if (completed_) return;
  completed_ = true;
  result_ = result;
  withdraw();
  fiber_->current_ = nullptr;
  fiber_->reactor().schedule(*this);
}

void Wait::resume() noexcept {
  if (fiber_->ledger_ != nullptr) fiber_->ledger_->resume(fiber_->slot_, fiber_->reactor().turn_cycles());
  coroutine_.resume();
}

namespace {

// The frame around a root task; destroys itself at its end.
struct Root {
  struct promise_type {
    Fiber* fiber = nullptr;
    promise_type(Fiber& f, Task<void>&, void (*)(void*) noexcept, void*) noexcept : fiber(&f) {}
    static void* operator new(std::size_t bytes) { return Recycler::allocate(bytes); }
    static void operator delete(void* block, std::size_t bytes) noexcept { Recycler::deallocate(block, bytes); }
    Root get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

Root run_root(Fiber&, Task<void> task, void (*done)(void*) noexcept, void* argument) {
  try {
    co_await task;
  } catch (const std::exception& failure) {
    observe::log::error("an exchange ended by {}", failure.what());
  }
  done(argument);
}

}  // namespace

void launch(Fiber& fiber, Task<void> task, void (*done)(void*) noexcept, void* argument) {
  run_root(fiber, std::move(task), done, argument);
}

}  // namespace pontage::net
