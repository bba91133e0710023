// Blocking work beside a worker: results, cancellation, limits.
#include "src/net/blocking_pool.h"

#include <future>
#include <memory>
#include <new>
#include <optional>

#include <gtest/gtest.h>

namespace pontage::net {
namespace {

using Outcome = std::optional<util::Result<int>>;

template <class Callable>
Task<void> run(BlockingPool& pool, Reactor& reactor, Callable callable, Outcome& outcome, Deadline deadline) {
  auto call = run_blocking(pool, reactor, deadline, std::move(callable));
  outcome.emplace(co_await call);
}

void stop(void* reactor) noexcept {
  static_cast<Reactor*>(reactor)->stop();
}

template <class Callable>
util::Result<int> outcome_of(BlockingPool& pool, Callable callable) {
  Reactor reactor;
  Fiber fiber(reactor);
  Outcome outcome;
  launch(fiber, run(pool, reactor, std::move(callable), outcome, kNoDeadline), stop, &reactor);
  reactor.run();
  return *outcome;
}

// A job that holds its thread until it is let go, and says when it has begun.
struct Gate {
  std::promise<void> begun;
  std::promise<void> open;
};
struct HeldJob {
  std::shared_ptr<Gate> gate;
  std::shared_ptr<int> owned = std::make_shared<int>(7);
  int operator()() const {
    gate->begun.set_value();
    gate->open.get_future().wait();
    return *owned;
  }
};

TEST(BlockingPool, GivesTheResultToTheFiber) {
  BlockingPool pool(2);
  const auto result = outcome_of(pool, [text = std::make_unique<int>(42)] { return *text; });
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, 42);
}

TEST(BlockingPool, RunsOnAnotherThread) {
  BlockingPool pool(1);
  const auto here = std::this_thread::get_id();
  const auto result = outcome_of(pool, [here] { return std::this_thread::get_id() == here ? 1 : 0; });
  EXPECT_EQ(*result, 0);
}

TEST(BlockingPool, ACancelledFiberGoesOnWhileTheJobEndsByItself) {
  Reactor reactor;  // outlives the pool, which reports to it
  auto gate = std::make_shared<Gate>();
  Outcome outcome;
  {
    BlockingPool pool(1);
    Fiber fiber(reactor);
    launch(fiber, run(pool, reactor, HeldJob{gate}, outcome, kNoDeadline), stop, &reactor);
    gate->begun.get_future().wait();
    fiber.cancel();
    reactor.run();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->error().kind, util::ErrorKind::cancelled);
    gate->open.set_value();
  }
}

TEST(BlockingPool, ADeadlineEndsTheWait) {
  Reactor reactor;
  auto gate = std::make_shared<Gate>();
  Outcome outcome;
  {
    BlockingPool pool(1);
    Fiber fiber(reactor);
    launch(fiber, run(pool, reactor, HeldJob{gate}, outcome, reactor.now_ms() + 1), stop, &reactor);
    reactor.run();
    EXPECT_EQ(outcome->error().kind, util::ErrorKind::timeout);
    gate->begun.get_future().wait();
    gate->open.set_value();
  }
}

TEST(BlockingPool, AFullQueueIsOverload) {
  Reactor reactor;
  auto gate = std::make_shared<Gate>();
  Outcome held, queued;
  BlockingPool pool(1, 1);
  Fiber holder(reactor);
  Fiber waiter(reactor);
  const auto nothing = [](void*) noexcept {};
  launch(holder, run(pool, reactor, HeldJob{gate}, held, kNoDeadline), nothing, nullptr);
  gate->begun.get_future().wait();
  launch(waiter,
         run(
             pool, reactor, [] { return 1; }, queued, kNoDeadline),
         stop, &reactor);
  const auto refused = outcome_of(pool, [] { return 2; });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, util::ErrorKind::overload);
  gate->open.set_value();
  reactor.run();
  EXPECT_EQ(**held, 7);
  EXPECT_EQ(**queued, 1);
}

TEST(BlockingPool, AJobWithoutMemoryIsOverload) {
  BlockingPool pool(1);
  const auto result = outcome_of(pool, []() -> int { throw std::bad_alloc(); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, util::ErrorKind::overload);
}

TEST(BlockingPool, AFiberCancelledBeforeNeverStartsAJob) {
  BlockingPool pool(1);
  Reactor reactor;
  Fiber fiber(reactor);
  Outcome outcome;
  fiber.cancel();
  launch(
      fiber,
      run(
          pool, reactor, [] { return 1; }, outcome, kNoDeadline),
      [](void*) noexcept {}, nullptr);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->error().kind, util::ErrorKind::cancelled);
}

}  // namespace
}  // namespace pontage::net
