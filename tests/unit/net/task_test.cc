// Task: starting, ending, results, exceptions, and the stack it needs.
#include "src/net/task.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/net/loop.h"

namespace pontage::net {
namespace {

using testing::Loop;
using testing::Side;
using testing::Signal;
using testing::turns;

// How far the stack reached while children ran.
struct Depth {
  std::uintptr_t low = ~std::uintptr_t{0};
  std::uintptr_t high = 0;
  void note(const void* frame) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(frame);
    low = std::min(low, at);
    high = std::max(high, at);
  }
  std::uintptr_t spread() const noexcept { return high - low; }
};
constexpr std::uintptr_t kConstant = 16 * 1024;

Task<int> leaf(Depth& depth) {
  depth.note(__builtin_frame_address(0));
  co_return 1;
}

Task<int> branch(Depth& depth) {
  const int one = co_await leaf(depth);
  co_return one;
}

TEST(Task, AMillionReadyTasksRunInConstantStack) {
  Loop loop;
  Depth depth;
  std::int64_t sum = 0;
  auto scenario = [&]() -> Task<void> {
    for (int i = 0; i < 1'000'000; ++i) sum += co_await leaf(depth);
  };
  loop.run(scenario());
  EXPECT_EQ(sum, 1'000'000);
  EXPECT_LT(depth.spread(), kConstant);
}

TEST(Task, ReadyTasksInsideReadyTasksRunInConstantStack) {
  Loop loop;
  Depth depth;
  std::int64_t sum = 0;
  auto scenario = [&]() -> Task<void> {
    for (int i = 0; i < 200'000; ++i) sum += co_await branch(depth);
  };
  loop.run(scenario());
  EXPECT_EQ(sum, 200'000);
  EXPECT_LT(depth.spread(), kConstant);
}

Task<int> sometimes_waits(Depth& depth, int turn) {
  if (turn % 3 == 0) co_await Yield();
  depth.note(__builtin_frame_address(0));
  co_return turn;
}

TEST(Task, TasksThatWaitedAndTasksThatDidNotMixInConstantStack) {
  Loop loop;
  Depth depth;
  std::int64_t sum = 0;
  auto scenario = [&]() -> Task<void> {
    for (int i = 0; i < 30'000; ++i) sum += co_await sometimes_waits(depth, i);
  };
  loop.run(scenario());
  EXPECT_EQ(sum, 30'000LL * 29'999 / 2);
  EXPECT_LT(depth.spread(), kConstant);
}

Task<int> waits_for(Signal& signal, int value) {
  co_await signal.wait();
  co_return value;
}

TEST(Task, AChildThatSuspendedResumesItsParentOnce) {
  Loop loop;
  Signal signal;
  int resumed = 0;
  int got = 0;
  auto parent = [&]() -> Task<void> {
    got = co_await waits_for(signal, 7);
    ++resumed;
  };
  auto scenario = [&]() -> Task<void> {
    Side side(loop.reactor);
    side.start(parent());
    EXPECT_TRUE(signal.awaited());
    signal.set();
    signal.set();
    EXPECT_EQ(resumed, 0) << "completing must not run the coroutine inside the caller";
    co_await turns(3);
    EXPECT_EQ(resumed, 1);
    EXPECT_TRUE(side.ended);
  };
  loop.run(scenario());
  EXPECT_EQ(got, 7);
}

TEST(Task, DoesNotStartBeforeItIsAwaited) {
  bool ran = false;
  auto body = [&]() -> Task<void> {
    ran = true;
    co_return;
  };
  { const Task<void> never = body(); }
  EXPECT_FALSE(ran);
}

Task<std::unique_ptr<std::string>> makes(std::string text) {
  co_await Yield();
  co_return std::make_unique<std::string>(std::move(text));
}

TEST(Task, HandsOverResultsThatOnlyMove) {
  Loop loop;
  std::string got;
  auto scenario = [&]() -> Task<void> {
    const auto text = co_await makes("a text that is too long for the small string");
    got = *text;
  };
  loop.run(scenario());
  EXPECT_EQ(got, "a text that is too long for the small string");
}

Task<void> fails(bool waits) {
  if (waits) co_await Yield();
  throw std::runtime_error("thrown by a test");
}
Task<void> passes_on(bool waits) {
  co_await fails(waits);
}

TEST(Task, AnExceptionReachesAParentThatCatchesIt) {
  for (const bool waits : {false, true}) {
    Loop loop;
    std::string caught;
    auto scenario = [&]() -> Task<void> {
      try {
        co_await passes_on(waits);
      } catch (const std::runtime_error& failure) {
        caught = failure.what();
      }
    };
    loop.run(scenario());
    EXPECT_EQ(caught, "thrown by a test");
  }
}

TEST(Task, AnExceptionThatNobodyCatchesEndsItsRootAndNothingElse) {
  for (const bool waits : {false, true}) {
    Loop loop;
    bool ended = false;
    auto scenario = [&]() -> Task<void> {
      Side side(loop.reactor);
      side.start(passes_on(waits));
      co_await turns(3);
      ended = side.ended;
    };
    loop.run(scenario());
    EXPECT_TRUE(ended);
  }
}

TEST(Task, TheEndOfARootMayDestroyItsFiber) {
  Loop loop;
  auto body = []() -> Task<void> { co_await Yield(); };
  auto scenario = [&]() -> Task<void> {
    auto* fiber = new Fiber(loop.reactor);
    launch(
        *fiber, body(), [](void* own) noexcept { delete static_cast<Fiber*>(own); }, fiber);
    co_await turns(3);
  };
  loop.run(scenario());
}

}  // namespace
}  // namespace pontage::net
