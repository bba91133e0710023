// Threads for work that may wait for the disk, so that workers never do. A fiber awaits a callable that runs on one of
// them. The callable and its result live on the heap: a cancelled fiber goes on at once, and the job ends by itself;
// its result is then dropped on the reactor's thread. Owned by the gateway; destroyed after the workers have stopped
// and before their reactors are.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/net/fiber.h"
#include "src/net/reactor.h"
#include "src/util/error.h"

namespace pontage::net {

class BlockingPool {
 public:
  class Job {
   public:
    virtual ~Job() = default;
    virtual void run() noexcept = 0;  // on a thread of the pool
  };

  static constexpr std::size_t kMaxQueued = 4096;

  // `threads` at least 1; throws std::system_error when a thread cannot be made.
  explicit BlockingPool(unsigned threads, std::size_t max_queued = kMaxQueued);
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;
  // Waits for the jobs that run; those still queued are dropped.
  ~BlockingPool();

  // False when too many jobs are queued already. Any thread.
  bool post(std::shared_ptr<Job> job);

 private:
  void work();

  const std::size_t max_queued_;
  std::mutex lock_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Job>> queue_;  // guarded by lock_, as is the next
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// Awaits `callable()` on the pool: Result of what it returns. Errors: cancelled, timeout, overload (queue full, or it
// threw). The callable owns or shares all it uses, for it may outlive the fiber. Name the awaiter before awaiting it
// (g++ 12, DESIGN "The engine").
template <class Callable>
class BlockingCall final : public Wait {
  using Value = std::invoke_result_t<Callable&>;

  struct Call final : BlockingPool::Job, std::enable_shared_from_this<Call> {
    Call(Callable&& c, BlockingCall* w, Reactor& r) : callable(std::move(c)), waiter(w), reactor(&r) {}
    void run() noexcept override {
      try {
        value.emplace(callable());
      } catch (const std::exception&) {
        value.reset();  // out of memory
      }
      reactor->post([self = this->shared_from_this()] {
        if (self->waiter != nullptr) {
          self->waiter->complete(WaitResult::ready);
        } else {
          self->value.reset();  // here, and not where the last of the pool's threads lets go of it
        }
      });
    }
    Callable callable;
    BlockingCall* waiter;  // the worker's thread only; nullptr when nobody waits any more
    Reactor* reactor;
    std::optional<Value> value;
  };

 public:
  BlockingCall(BlockingPool& pool, Reactor& reactor, Deadline deadline, Callable callable, observe::Phase phase)
      : Wait(phase, deadline), pool_(&pool), call_(std::make_shared<Call>(std::move(callable), this, reactor)) {}
  BlockingCall(const BlockingCall&) = delete;
  BlockingCall& operator=(const BlockingCall&) = delete;

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) {
    if (!suspend(coroutine)) return false;
    // Not queued: the value stays empty, which says so.
    if (!pool_->post(call_)) complete(WaitResult::ready);
    return true;
  }
  util::Result<Value> await_resume() {
    switch (result()) {
      case WaitResult::cancelled: return util::fail(util::ErrorKind::cancelled, util::Source::gateway, "disk");
      case WaitResult::timeout: return util::fail(util::ErrorKind::timeout, util::Source::gateway, "disk");
      case WaitResult::ready: break;
    }
    if (!call_->value) return util::fail(util::ErrorKind::overload, util::Source::gateway, "blocking pool");
    return std::move(*call_->value);
  }

 private:
  void withdraw() noexcept override { call_->waiter = nullptr; }

  BlockingPool* pool_;
  std::shared_ptr<Call> call_;
};

template <class Callable>
BlockingCall<Callable> run_blocking(BlockingPool& pool, Reactor& reactor, Deadline deadline, Callable callable,
                                    observe::Phase phase = observe::Phase::disk) {
  return BlockingCall<Callable>(pool, reactor, deadline, std::move(callable), phase);
}

}  // namespace pontage::net
