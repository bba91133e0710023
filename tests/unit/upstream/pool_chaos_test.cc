// The pool under random cancellation: whatever happens, every place is given back (ADAPTERS P36).
#include <atomic>
#include <deque>
#include <random>
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

constexpr int kVisitors = 48;
constexpr int kLeastGranted = 500;

// One worker's share of the chaos: visitors that come and go, and somebody who cancels them at random.
class Chaos {
 public:
  Chaos(Bench& bench, unsigned worker, int operations, unsigned seed)
      : bench_(&bench), reactor_(&bench.reactor(worker)), left_(operations), random_(seed) {}

  Task<void> run() {
    for (int i = 0; i < kVisitors; ++i) sides_.emplace_back(*reactor_).start(visit(static_cast<std::size_t>(i)));
    while (busy()) {
      for (std::uint32_t i = random_() % 6; i > 0; --i) sides_[random_() % kVisitors].fiber.cancel();
      co_await turns(1);
    }
    for (auto& side : sides_) {
      while (!side.ended) co_await turns(1);
    }
  }
  int granted() const noexcept { return granted_; }
  int cancelled() const noexcept { return cancelled_; }

 private:
  // However the workers share the time, each has had connections before it ends.
  bool busy() const noexcept { return left_ > 0 || granted_ < kLeastGranted; }
  Task<void> visit(std::size_t number) {
    while (busy()) {
      --left_;
      sides_[number].fiber.revive();
      Got got;
      co_await acquire(*bench_, *reactor_, got);
      if (!got.connection) {
        if (got.error.kind == util::ErrorKind::cancelled) ++cancelled_;
        co_await turns(1);
        continue;
      }
      ++granted_;
      co_await turns(static_cast<int>(random_() % 3));
      if (random_() % 8 == 0) {
        bench_->discard(std::move(got.connection));
      } else {
        bench_->pool().give_back(std::move(got.connection));
      }
    }
  }

  Bench* bench_;
  net::Reactor* reactor_;
  int left_;
  std::mt19937 random_;
  std::deque<Side> sides_;
  int granted_ = 0;
  int cancelled_ = 0;
};

TEST(PoolChaos, GaugesAreTrueAfterManyRandomCancels) {
  Bench bench({.max = 5, .queue = 30, .queue_ms = 60'000});
  Chaos chaos(bench, 0, 100'000, 20260101);
  bench.run(chaos.run());
  bench.settle();
  const auto end = bench.pool().gauges();
  EXPECT_EQ(end.waiting, 0);
  EXPECT_EQ(end.open, end.idle) << "nobody holds one any more";
  EXPECT_LE(end.open, 5);
  EXPECT_GT(chaos.granted(), 1000);
  EXPECT_GT(chaos.cancelled(), 1000);
}

TEST(PoolChaos, GaugesAreTrueAfterManyRandomCancelsOnTwoWorkers) {
  Bench bench({.max = 5, .queue = 60, .queue_ms = 60'000}, 2);
  Chaos first(bench, 0, 15'000, 1);
  Chaos second(bench, 1, 15'000, 2);
  std::atomic<int> running{2};
  // Neither loop may end while the other may still post to it.
  auto share = [&](Chaos& chaos, net::Reactor& reactor) -> Task<void> {
    co_await chaos.run();
    running.fetch_sub(1);
    while (running.load() > 0) co_await net::Pause(reactor.after(4));
  };
  std::thread other([&] {
    net::Fiber fiber(bench.reactor(1));
    net::launch(
        fiber, share(second, bench.reactor(1)), [](void* r) noexcept { static_cast<net::Reactor*>(r)->stop(); },
        &bench.reactor(1));
    bench.reactor(1).run();
    net::Recycler::trim();  // as a worker does at its end
  });
  bench.run(share(first, bench.reactor()));
  other.join();
  bench.settle();
  const auto end = bench.pool().gauges();
  EXPECT_EQ(end.waiting, 0);
  EXPECT_EQ(end.open, end.idle);
  EXPECT_LE(end.open, 5);
  EXPECT_GE(first.granted(), kLeastGranted);
  EXPECT_GE(second.granted(), kLeastGranted);
}

}  // namespace
}  // namespace pontage::upstream
