// The pool of one server shared by two workers, each with a thread of its own.
#include <atomic>
#include <deque>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "tests/unit/upstream/bench.h"

namespace pontage::upstream {
namespace {

using net::Task;
using net::testing::Side;
using net::testing::turns;
using testing::acquire;
using testing::Bench;
using testing::Got;

constexpr std::uint64_t kForEver = 3'600'000;

// Two reactors that run until the test is over.
class PoolOfTwo : public ::testing::Test {
 protected:
  void start(PoolLimits limits) {
    bench = std::make_unique<Bench>(limits, 2);
    for (unsigned w = 0; w < 2; ++w) {
      threads.emplace_back([reactor = &bench->reactor(w)] {
        reactor->run();
        net::Recycler::trim();
      });
    }
  }
  void TearDown() override {
    for (unsigned w = 0; w < 2; ++w) bench->reactor(w).stop();
    for (auto& thread : threads) thread.join();
    bench.reset();
  }
  // Runs `work` on a worker's thread and waits for it.
  template <class F>
  void on(unsigned worker, F work) {
    std::promise<void> done;
    bench->reactor(worker).post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  // Runs a task on a worker and waits for its end.
  void run_on(unsigned worker, Task<void> task) {
    struct Running {
      net::Fiber fiber;
      std::promise<void> done;
    };
    Running running{net::Fiber(bench->reactor(worker)), {}};
    bench->reactor(worker).post([&] {
      net::launch(
          running.fiber, std::move(task), [](void* r) noexcept { static_cast<Running*>(r)->done.set_value(); },
          &running);
    });
    running.done.get_future().wait();
    on(worker, [] {});  // the fiber is no longer in use
  }
  Task<void> take(unsigned worker, Got& got) { return acquire(*bench, bench->reactor(worker), got); }
  void give_back(unsigned worker, Got& got) {
    on(worker, [&] { bench->pool().give_back(std::move(got.connection)); });
  }

  std::unique_ptr<Bench> bench;
  std::vector<std::thread> threads;
};

TEST_F(PoolOfTwo, AnIdleConnectionComesToWhoeverWaitsElsewhere) {
  start({.max = 1, .queue_ms = kForEver});
  Got first;
  run_on(0, take(0, first));
  ASSERT_TRUE(first.connection);
  const int fd = first.connection->stream().fd();
  give_back(0, first);
  Got second;
  run_on(1, take(1, second));
  ASSERT_TRUE(second.connection);
  EXPECT_TRUE(second.reused);
  EXPECT_EQ(second.connection->stream().fd(), fd);
  EXPECT_EQ(second.connection->reactor().id(), 1U);
  EXPECT_GT(second.connection->uses(), 0U) << "it counts as reused";
  EXPECT_EQ(bench->pool().gauges().open, 1);
  give_back(1, second);
}

TEST_F(PoolOfTwo, AnIdleConnectionIsPreferredToANewOne) {
  start({.max = 10, .queue = 0, .queue_ms = kForEver});
  Got first;
  run_on(0, take(0, first));
  give_back(0, first);
  Got second;
  run_on(1, take(1, second));
  EXPECT_TRUE(second.reused) << "even where nobody may wait otherwise";
  EXPECT_EQ(bench->pool().gauges().open, 1);
  give_back(1, second);
}

TEST_F(PoolOfTwo, AConnectionThatIsGivenBackGoesStraightToAWaiterElsewhere) {
  start({.max = 1, .queue_ms = kForEver});
  Got first;
  run_on(0, take(0, first));
  Got second;
  auto side = std::make_unique<Side>(bench->reactor(1));
  on(1, [&] { side->start(take(1, second)); });
  EXPECT_EQ(bench->pool().gauges().waiting, 1);
  give_back(0, first);
  for (bool ended = false; !ended;) on(1, [&] { ended = side->ended; });
  EXPECT_TRUE(second.reused);
  give_back(1, second);
}

TEST_F(PoolOfTwo, AGrantThatLosesItsWaiterOnTheWayIsPassedOn) {
  start({.max = 1, .queue_ms = kForEver});
  Got first;
  run_on(0, take(0, first));
  Got gives_up;
  Got next;
  auto side = std::make_unique<Side>(bench->reactor(1));
  auto next_side = std::make_unique<Side>(bench->reactor(1));
  on(1, [&] {
    side->start(take(1, gives_up));
    next_side->start(take(1, next));
  });
  on(1, [&] {
    give_back(0, first);  // the grant is in this worker's mail now
    side->fiber.cancel();
  });
  for (bool ended = false; !ended;) on(1, [&] { ended = side->ended && next_side->ended; });
  EXPECT_EQ(gives_up.error.kind, util::ErrorKind::cancelled);
  EXPECT_TRUE(next.reused);
  EXPECT_EQ(bench->pool().gauges().open, 1);
  give_back(1, next);
}

TEST_F(PoolOfTwo, AMovedConnectionWithBytesOnItIsNotUsed) {
  start({.max = 1, .queue_ms = kForEver});
  Got first;
  run_on(0, take(0, first));
  const int far = bench->far(*first.connection);
  Got second;
  auto side = std::make_unique<Side>(bench->reactor(1));
  on(1, [&] { side->start(take(1, second)); });
  on(1, [&] {
    give_back(0, first);
    EXPECT_EQ(::send(far, "x", 1, MSG_NOSIGNAL), 1);  // arrives while the connection is on its way
  });
  for (bool ended = false; !ended;) on(1, [&] { ended = side->ended; });
  ASSERT_TRUE(second.connection);
  EXPECT_FALSE(second.reused);
  EXPECT_EQ(bench->pool().gauges().open, 1);
  give_back(1, second);
}

TEST_F(PoolOfTwo, ManyRequestsNeverExceedTheMaximumAndNoneIsLeftWaiting) {
  constexpr int kMax = 5;
  constexpr int kRounds = 40;
  start({.max = kMax, .queue = 500, .queue_ms = 120'000});
  std::atomic<int> holding{0};
  std::atomic<int> most{0};
  std::atomic<int> served{0};
  auto visit = [&](unsigned worker, int number) -> Task<void> {
    for (int round = 0; round < kRounds; ++round) {
      Got got;
      co_await take(worker, got);
      EXPECT_TRUE(got.connection) << util::to_string(got.error.kind);
      if (!got.connection) co_return;
      const int now = holding.fetch_add(1) + 1;
      for (int seen = most.load(); now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      EXPECT_EQ(got.connection->reactor().id(), worker);
      EXPECT_LE(bench->pool().gauges().open, kMax);
      co_await turns(number % 3);
      holding.fetch_sub(1);
      served.fetch_add(1);
      if ((number + round) % 16 == 0) {
        bench->discard(std::move(got.connection));
      } else {
        bench->pool().give_back(std::move(got.connection));
      }
      co_await turns(round % 2);
    }
  };
  std::deque<Side> sides;
  for (int i = 0; i < 200; ++i) sides.emplace_back(bench->reactor(static_cast<unsigned>(i) % 2));
  for (unsigned w = 0; w < 2; ++w) {
    on(w, [&] {
      for (int i = static_cast<int>(w); i < 200; i += 2) sides[static_cast<std::size_t>(i)].start(visit(w, i));
    });
  }
  while (served.load() < 200 * kRounds && !HasFailure()) std::this_thread::yield();
  for (unsigned w = 0; w < 2; ++w) {
    for (bool all = false; !all;) {
      on(w, [&] {
        all = true;
        for (std::size_t i = w; i < sides.size(); i += 2) all = all && sides[i].ended;
      });
    }
  }
  EXPECT_EQ(served.load(), 200 * kRounds);
  EXPECT_LE(most.load(), kMax);
  EXPECT_EQ(bench->pool().gauges().waiting, 0);
}

}  // namespace
}  // namespace pontage::upstream
