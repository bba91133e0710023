// Fiber and Wait: deadlines, cancellation, interruption.
#include "src/net/fiber.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/net/loop.h"

namespace pontage::net {
namespace {

using testing::Loop;
using testing::Side;
using testing::Signal;
using testing::turns;

TEST(Fiber, ADeadlineFiresOnceAndNotEarly) {
  Loop loop;
  auto scenario = [&]() -> Task<void> {
    for (const std::uint64_t patience : {1U, 4U, 5U, 30U}) {
      const Deadline deadline = loop.reactor.after(patience);
      const WaitResult waited = co_await Pause(deadline);
      EXPECT_EQ(waited, WaitResult::timeout);
      EXPECT_GE(loop.reactor.now_ms(), deadline);
      const WaitResult next = co_await Yield();
      EXPECT_EQ(next, WaitResult::ready) << "a deadline that has passed ends no later wait";
    }
  };
  loop.run(scenario());
}

TEST(Fiber, ADeadlineInThePastFiresAtOnce) {
  Loop loop;
  auto scenario = [&]() -> Task<void> {
    const WaitResult waited = co_await Pause(loop.reactor.now_ms() - 1);
    EXPECT_EQ(waited, WaitResult::timeout);
  };
  loop.run(scenario());
}

TEST(Fiber, AShorterDeadlineAfterALongerOneIsKept) {
  Loop loop;
  Signal signal;
  auto other = [&]() -> Task<void> {
    const WaitResult first = co_await signal.wait(loop.reactor.after(3'600'000));
    EXPECT_EQ(first, WaitResult::ready);
    const WaitResult second = co_await signal.wait(loop.reactor.after(10));  // an hour, if it were forgotten
    EXPECT_EQ(second, WaitResult::timeout);
  };
  auto scenario = [&]() -> Task<void> {
    Side side(loop.reactor);
    side.start(other());
    signal.set();
    while (!side.ended) co_await Pause(loop.reactor.after(5));
  };
  loop.run(scenario());
}

TEST(Fiber, TheTimerOfAnEarlierWaitDoesNotEndALaterOne) {
  Loop loop;
  Signal signal;
  auto other = [&]() -> Task<void> {
    const WaitResult first = co_await signal.wait(loop.reactor.after(8));
    EXPECT_EQ(first, WaitResult::ready);
    const Deadline deadline = loop.reactor.after(40);
    const WaitResult second = co_await signal.wait(deadline);
    EXPECT_EQ(second, WaitResult::timeout);
    EXPECT_GE(loop.reactor.now_ms(), deadline);
  };
  auto scenario = [&]() -> Task<void> {
    Side side(loop.reactor);
    side.start(other());
    signal.set();
    while (!side.ended) co_await Pause(loop.reactor.after(5));
  };
  loop.run(scenario());
}

TEST(Fiber, AWaitWithoutADeadlineOutlivesTheTimerOfAnEarlierOne) {
  Loop loop;
  Signal signal;
  auto other = [&]() -> Task<void> {
    const WaitResult first = co_await signal.wait(loop.reactor.after(8));
    EXPECT_EQ(first, WaitResult::ready);
    const WaitResult second = co_await signal.wait();
    EXPECT_EQ(second, WaitResult::ready);
  };
  auto scenario = [&]() -> Task<void> {
    Side side(loop.reactor);
    side.start(other());
    signal.set();
    co_await Pause(loop.reactor.after(40));
    EXPECT_TRUE(signal.awaited());
    signal.set();
    co_await turns(2);
    EXPECT_TRUE(side.ended);
  };
  loop.run(scenario());
}

// Waits until it is cancelled, and notes how each wait went.
Task<void> note_waits(Signal& signal, int count, std::vector<WaitResult>& results) {
  for (int i = 0; i < count; ++i) results.push_back(co_await signal.wait());
}

TEST(Fiber, CancelEndsThePresentWaitAndEveryLaterOne) {
  Loop loop;
  Signal signal;
  std::vector<WaitResult> results;
  auto scenario = [&]() -> Task<void> {
    Side side(loop.reactor);
    side.start(note_waits(signal, 3, results));
    EXPECT_TRUE(side.fiber.waiting());
    side.fiber.cancel();
    EXPECT_FALSE(side.fiber.waiting());
    EXPECT_FALSE(signal.awaited()) << "the wait must have withdrawn";
    EXPECT_TRUE(results.empty());
    co_await turns(1);
    EXPECT_TRUE(side.ended);
  };
  loop.run(scenario());
  EXPECT_EQ(results, std::vector<WaitResult>(3, WaitResult::cancelled));
}

TEST(Fiber, CancelBeforeWaitingEndsTheWaitWithoutSuspending) {
  Loop loop;
  Signal signal;
  std::vector<WaitResult> results;
  auto scenario = [&]() -> Task<void> {
    Side side(loop.reactor);
    side.fiber.cancel();
    side.start(note_waits(signal, 2, results));
    EXPECT_TRUE(side.ended);
    co_return;
  };
  loop.run(scenario());
  EXPECT_EQ(results, std::vector<WaitResult>(2, WaitResult::cancelled));
}

TEST(Fiber, CancelAfterCompletionCountsAsReady) {
  Loop loop;
  Signal signal;
  std::vector<WaitResult> results;
  auto scenario = [&]() -> Task<void> {
    Side side(loop.reactor);
    side.start(note_waits(signal, 2, results));
    signal.set();
    side.fiber.cancel();
    co_await turns(2);
    EXPECT_TRUE(side.ended);
  };
  loop.run(scenario());
  EXPECT_EQ(results, (std::vector<WaitResult>{WaitResult::ready, WaitResult::cancelled}));
}

TEST(Fiber, InterruptEndsThePresentWaitOnly) {
  Loop loop;
  Signal signal;
  std::vector<WaitResult> results;
  auto scenario = [&]() -> Task<void> {
    Side side(loop.reactor);
    side.fiber.interrupt();
    side.start(note_waits(signal, 2, results));
    side.fiber.interrupt();
    co_await turns(1);
    EXPECT_FALSE(side.fiber.cancelled());
    EXPECT_TRUE(signal.awaited());
    signal.set();
    co_await turns(1);
    EXPECT_TRUE(side.ended);
  };
  loop.run(scenario());
  EXPECT_EQ(results, (std::vector<WaitResult>{WaitResult::cancelled, WaitResult::ready}));
}

TEST(Fiber, ARevivedFiberWaitsAgain) {
  Loop loop;
  Signal signal;
  std::vector<WaitResult> results;
  auto scenario = [&]() -> Task<void> {
    Side side(loop.reactor);
    side.start(note_waits(signal, 2, results));
    side.fiber.cancel();
    side.fiber.revive();
    co_await turns(1);
    EXPECT_TRUE(signal.awaited());
    signal.set();
    co_await turns(1);
    EXPECT_TRUE(side.ended);
  };
  loop.run(scenario());
  EXPECT_EQ(results, (std::vector<WaitResult>{WaitResult::cancelled, WaitResult::ready}));
}

TEST(Fiber, FibersThatAreReadyRunInTheOrderTheyBecameSo) {
  Loop loop;
  std::vector<int> order;
  auto each = [&](int number) -> Task<void> {
    for (int round = 0; round < 3; ++round) {
      co_await Yield();
      order.push_back(number);
    }
  };
  auto scenario = [&]() -> Task<void> {
    Side first(loop.reactor);
    Side second(loop.reactor);
    first.start(each(1));
    second.start(each(2));
    co_await turns(5);
    EXPECT_TRUE(first.ended && second.ended);
  };
  loop.run(scenario());
  EXPECT_EQ(order, (std::vector<int>{1, 2, 1, 2, 1, 2}));
}

}  // namespace
}  // namespace pontage::net
