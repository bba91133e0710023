// Work for other threads: where its result is told, and where it ends when nobody wants it any more.
#include "src/net/blocking_pool.h"

#include <atomic>
#include <future>

#include <gtest/gtest.h>

#include "tests/unit/net/loop.h"

namespace pontage::net {
namespace {

using testing::Loop;
using testing::Side;

// Says on which thread it died.
struct Mark {
  explicit Mark(std::atomic<std::thread::id>* where) : died(where) {}
  Mark(Mark&& other) noexcept : died(std::exchange(other.died, nullptr)) {}
  Mark& operator=(Mark&&) = delete;
  ~Mark() {
    if (died != nullptr) died->store(std::this_thread::get_id());
  }
  std::atomic<std::thread::id>* died;
};

struct MarkJob {
  std::shared_future<void> gate;
  std::atomic<std::thread::id>* died;

  Mark operator()() const {
    gate.wait();
    return Mark(died);
  }
};

Task<void> ask(BlockingPool& pool, Reactor& reactor, MarkJob job) {
  auto call = run_blocking(pool, reactor, kNoDeadline, std::move(job));
  const auto got = co_await call;
  EXPECT_FALSE(got);
  EXPECT_EQ(got.error().kind, util::ErrorKind::cancelled);
}

// While the reactor runs, its thread is where results are used: there they may touch what is the worker's.
TEST(BlockingPool, AResultThatNobodyWantsDiesOnTheReactorsThread) {
  BlockingPool pool(1);
  std::promise<void> gate;
  std::atomic<std::thread::id> died{};
  Loop loop;
  Side side(loop.reactor);
  const auto scenario = [&]() -> Task<void> {
    side.start(ask(pool, loop.reactor, MarkJob{gate.get_future().share(), &died}));
    side.fiber.cancel();
    while (!side.ended) co_await Yield();
    gate.set_value();
    while (died.load() == std::thread::id()) co_await Pause(loop.reactor.after(1));
  };
  loop.run(scenario());
  EXPECT_EQ(died.load(), std::this_thread::get_id());
}

}  // namespace
}  // namespace pontage::net
