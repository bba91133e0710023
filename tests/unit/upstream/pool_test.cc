// The pool of one server on one worker.
#include "src/upstream/pool.h"

#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/upstream/bench.h"

namespace pontage::upstream {
namespace {

using net::Pause;
using net::Task;
using net::testing::Side;
using net::testing::turns;
using testing::acquire;
using testing::Bench;
using testing::Got;
using util::ErrorKind;

constexpr std::uint64_t kForEver = 3'600'000;

struct Visitor {
  explicit Visitor(Bench& bench) : side(bench.reactor()) { side.start(acquire(bench, bench.reactor(), got)); }
  Got got;
  Side side;
};

TEST(Pool, ServesManyAtOnceAndNeverOpensMoreThanItsMaximum) {
  Bench bench({.max = 7, .queue = 500, .queue_ms = kForEver});
  int holding = 0;
  int most = 0;
  int served = 0;
  auto visit = [&](int number) -> Task<void> {
    for (int round = 0; round < 5; ++round) {
      Got got;
      co_await acquire(bench, bench.reactor(), got);
      EXPECT_TRUE(got.connection);
      if (!got.connection) co_return;
      most = std::max(most, ++holding);
      EXPECT_LE(bench.pool().gauges().open, 7);
      co_await turns(1 + (number + round) % 4);
      --holding;
      ++served;
      if ((number + round) % 5 == 0) {
        bench.discard(std::move(got.connection));
      } else {
        bench.pool().give_back(std::move(got.connection));
      }
    }
  };
  auto scenario = [&]() -> Task<void> {
    std::deque<Side> sides;
    for (int i = 0; i < 200; ++i) sides.emplace_back(bench.reactor()).start(visit(i));
    for (auto& side : sides) {
      while (!side.ended) co_await turns(1);
    }
  };
  bench.run(scenario());
  EXPECT_EQ(served, 1000);
  EXPECT_EQ(most, 7);
}

TEST(Pool, ServesWaitersInTheOrderTheyCame) {
  Bench bench({.max = 1, .queue_ms = kForEver});
  std::vector<int> order;
  auto visit = [&](int number) -> Task<void> {
    Got got;
    co_await acquire(bench, bench.reactor(), got);
    order.push_back(number);
    co_await turns(1);
    if (number % 2 == 0) {
      bench.pool().give_back(std::move(got.connection));
    } else {
      bench.discard(std::move(got.connection));
    }
  };
  auto scenario = [&]() -> Task<void> {
    std::deque<Side> sides;
    for (int i = 0; i < 6; ++i) sides.emplace_back(bench.reactor()).start(visit(i));
    EXPECT_EQ(bench.pool().gauges().waiting, 5);
    while (!sides.back().ended) co_await turns(1);
  };
  bench.run(scenario());
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

TEST(Pool, NobodyOvertakesTheQueue) {
  Bench bench({.max = 1, .queue_ms = kForEver});
  auto scenario = [&]() -> Task<void> {
    Visitor first(bench);
    Visitor second(bench);
    bench.pool().give_back(std::move(first.got.connection));  // granted to the second, which has not run yet
    Visitor third(bench);
    EXPECT_FALSE(third.got.ended);
    co_await turns(1);
    EXPECT_TRUE(second.got.connection);
    EXPECT_FALSE(third.got.ended);
    bench.pool().give_back(std::move(second.got.connection));
    co_await turns(1);
    EXPECT_TRUE(third.got.connection);
    bench.pool().give_back(std::move(third.got.connection));
  };
  bench.run(scenario());
}

TEST(Pool, RefusesWhoeverComesToAFullQueue) {
  Bench bench({.max = 1, .queue = 2, .queue_ms = kForEver});
  auto scenario = [&]() -> Task<void> {
    Visitor holder(bench);
    Visitor first(bench);
    Visitor second(bench);
    Visitor refused(bench);
    EXPECT_TRUE(refused.got.ended);
    EXPECT_EQ(refused.got.error.kind, ErrorKind::queue_full);
    EXPECT_EQ(refused.got.error.source, util::Source::gateway);
    first.side.fiber.cancel();
    Visitor takes_its_place(bench);
    EXPECT_FALSE(takes_its_place.got.ended);
    bench.discard(std::move(holder.got.connection));
    co_await turns(3);
    EXPECT_TRUE(second.got.connection);
    bench.discard(std::move(second.got.connection));
    co_await turns(3);
    bench.discard(std::move(takes_its_place.got.connection));
  };
  bench.run(scenario());
}

TEST(Pool, AQueueOfLengthZeroStillOpensUpToTheMaximum) {
  Bench bench({.max = 2, .queue = 0});
  auto scenario = [&]() -> Task<void> {
    Visitor first(bench);
    Visitor second(bench);
    Visitor third(bench);
    EXPECT_TRUE(first.got.connection && second.got.connection);
    EXPECT_EQ(third.got.error.kind, ErrorKind::queue_full);
    bench.pool().give_back(std::move(first.got.connection));
    bench.pool().give_back(std::move(second.got.connection));
    co_return;
  };
  bench.run(scenario());
}

TEST(Pool, WhoWaitsTooLongIsToldSoAndLeavesTheQueue) {
  Bench bench({.max = 1, .queue_ms = 20});
  auto scenario = [&]() -> Task<void> {
    Visitor holder(bench);
    const auto deadline = bench.reactor().after(20);
    Visitor late(bench);
    while (!late.got.ended) co_await Pause(bench.reactor().after(4));
    EXPECT_GE(bench.reactor().now_ms(), deadline);
    EXPECT_EQ(late.got.error.kind, ErrorKind::queue_timeout);
    EXPECT_EQ(bench.pool().gauges().waiting, 0);
    bench.pool().give_back(std::move(holder.got.connection));
    EXPECT_EQ(bench.pool().gauges().idle, 1);
  };
  bench.run(scenario());
}

TEST(Pool, ACancelledWaiterLeavesTheQueueAtOnce) {
  Bench bench({.max = 1, .queue_ms = kForEver});
  auto scenario = [&]() -> Task<void> {
    Visitor holder(bench);
    Visitor cancelled(bench);
    Visitor next(bench);
    cancelled.side.fiber.cancel();
    EXPECT_EQ(bench.pool().gauges().waiting, 1);
    bench.pool().give_back(std::move(holder.got.connection));
    co_await turns(1);
    EXPECT_EQ(cancelled.got.error.kind, ErrorKind::cancelled);
    EXPECT_TRUE(next.got.reused);
    bench.pool().give_back(std::move(next.got.connection));
  };
  bench.run(scenario());
}

TEST(Pool, AGrantThatLosesItsWaiterIsPassedOn) {
  Bench bench({.max = 1, .queue_ms = kForEver});
  auto scenario = [&]() -> Task<void> {
    Visitor holder(bench);
    Visitor gives_up(bench);
    Visitor next(bench);
    bench.discard(std::move(holder.got.connection));  // leave to open one is on its way to the first in the queue
    gives_up.side.fiber.cancel();
    co_await turns(4);
    EXPECT_EQ(gives_up.got.error.kind, ErrorKind::cancelled);
    EXPECT_TRUE(next.got.connection);
    EXPECT_EQ(bench.pool().gauges().open, 1);
    bench.discard(std::move(next.got.connection));
  };
  bench.run(scenario());
}

TEST(Pool, GivesTheMostRecentlyUsedConnectionFirst) {
  Bench bench({.max = 3});
  auto scenario = [&]() -> Task<void> {
    Visitor first(bench);
    Visitor second(bench);
    const auto* used_last = second.got.connection.get();
    bench.pool().give_back(std::move(first.got.connection));
    bench.pool().give_back(std::move(second.got.connection));
    Visitor third(bench);
    EXPECT_EQ(third.got.connection.get(), used_last);
    EXPECT_EQ(third.got.connection->uses(), 1U);
    bench.pool().give_back(std::move(third.got.connection));
    co_return;
  };
  bench.run(scenario());
}

TEST(Pool, NoticesAClosedConnectionBeforeTheNextLease) {
  Bench bench({.max = 3});
  auto scenario = [&]() -> Task<void> {
    Visitor first(bench);
    const int near = first.got.connection->stream().fd();
    bench.pool().give_back(std::move(first.got.connection));
    bench.close_far(near);
    co_await turns(1);  // the next turn begins with what the kernel knows
    EXPECT_EQ(bench.pool().gauges().open, 0);
    Visitor second(bench);
    EXPECT_FALSE(second.got.reused);
    bench.pool().give_back(std::move(second.got.connection));
  };
  bench.run(scenario());
}

TEST(Pool, ClosesAnIdleConnectionOnWhichTheServerSpeaks) {
  Bench bench({.max = 3});
  auto scenario = [&]() -> Task<void> {
    Visitor first(bench);
    const int far = bench.far(*first.got.connection);
    bench.pool().give_back(std::move(first.got.connection));
    EXPECT_EQ(::send(far, "HTTP/1.1 408 \r\n", 15, MSG_NOSIGNAL), 15);
    co_await turns(1);
    EXPECT_EQ(bench.pool().gauges().open, 0);
  };
  bench.run(scenario());
}

TEST(Pool, ClosesWhatWasIdleForTooLongAndNotBefore) {
  Bench bench({.max = 3, .idle_ms = 60});
  auto scenario = [&]() -> Task<void> {
    Visitor first(bench);
    bench.pool().give_back(std::move(first.got.connection));
    Visitor again(bench);
    EXPECT_TRUE(again.got.reused);
    co_await Pause(bench.reactor().after(30));
    bench.pool().give_back(std::move(again.got.connection));
    const auto due = bench.reactor().after(60);
    while (bench.pool().gauges().idle == 1) co_await Pause(bench.reactor().after(4));
    EXPECT_GE(bench.reactor().now_ms(), due) << "the time counts from the last use";
    EXPECT_EQ(bench.pool().gauges().open, 0);
  };
  bench.run(scenario());
}

TEST(Pool, KeepsNoMoreIdleOnesThanItMay) {
  Bench bench({.max = 9, .idle = 2});
  auto scenario = [&]() -> Task<void> {
    std::deque<Visitor> visitors;
    for (int i = 0; i < 5; ++i) visitors.emplace_back(bench);
    for (auto& visitor : visitors) bench.pool().give_back(std::move(visitor.got.connection));
    EXPECT_EQ(bench.pool().gauges().idle, 2);
    EXPECT_EQ(bench.pool().gauges().open, 2);
    co_return;
  };
  bench.run(scenario());
}

TEST(Pool, ARetiredServerKeepsNothing) {
  Bench bench({.max = 9});
  auto scenario = [&]() -> Task<void> {
    Visitor idle(bench);
    Visitor busy(bench);
    bench.pool().give_back(std::move(idle.got.connection));
    bench.pool().retire();
    co_await turns(2);
    EXPECT_EQ(bench.pool().gauges().open, 1);
    bench.pool().give_back(std::move(busy.got.connection));
    EXPECT_EQ(bench.pool().gauges().open, 0);
  };
  bench.run(scenario());
}

TEST(Pool, ALowerMaximumHoldsForWhatComesBack) {
  Bench bench({.max = 3});
  auto scenario = [&]() -> Task<void> {
    std::deque<Visitor> visitors;
    for (int i = 0; i < 3; ++i) visitors.emplace_back(bench);
    bench.pool().set_limits({.max = 1, .queue_ms = kForEver});
    for (auto& visitor : visitors) bench.pool().give_back(std::move(visitor.got.connection));
    EXPECT_EQ(bench.pool().gauges().open, 1);
    co_return;
  };
  bench.run(scenario());
}

}  // namespace
}  // namespace pontage::upstream
