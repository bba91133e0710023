// The event loop: mail from other threads, stopping, turns.
#include "src/net/reactor.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/epoll.h>

#include "tests/unit/net/loop.h"

namespace pontage::net {
namespace {

TEST(Reactor, RunsWhatWasPostedFromAnotherThreadInOrder) {
  Reactor reactor;
  std::vector<int> got;
  const auto loop_thread = std::this_thread::get_id();
  bool on_loop_thread = true;
  std::thread poster([&] {
    for (int i = 0; i < 1000; ++i) {
      reactor.post([&, i] {
        on_loop_thread = on_loop_thread && std::this_thread::get_id() == loop_thread;
        got.push_back(i);
      });
    }
    reactor.post([&] { reactor.stop(); });
  });
  reactor.run();
  poster.join();
  ASSERT_EQ(got.size(), 1000U);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], i);
  EXPECT_TRUE(on_loop_thread);
}

TEST(Reactor, LosesNothingOfManyPosters) {
  Reactor reactor;
  constexpr int kPosters = 4;
  constexpr int kEach = 2000;
  int got = 0;
  std::vector<std::thread> posters;
  for (int p = 0; p < kPosters; ++p) {
    posters.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        reactor.post([&] {
          if (++got == kPosters * kEach) reactor.stop();
        });
      }
    });
  }
  reactor.run();
  for (auto& poster : posters) poster.join();
  EXPECT_EQ(got, kPosters * kEach);
}

TEST(Reactor, StopFromAnotherThreadEndsAnIdleLoop) {
  Reactor reactor;
  std::atomic<bool> running{false};
  reactor.post([&] { running.store(true); });
  std::thread stopper([&] {
    while (!running.load()) std::this_thread::yield();
    reactor.stop();
  });
  reactor.run();
  stopper.join();
}

TEST(Reactor, WhatWasPostedBeforeStopStillRuns) {
  Reactor reactor;
  int ran = 0;
  reactor.post([&] { ++ran; });
  reactor.stop();
  reactor.run();
  EXPECT_EQ(ran, 1);
}

TEST(Reactor, WhatMailPostsRunsInALaterTurn) {
  Reactor reactor;
  std::vector<int> order;
  reactor.post([&] {
    reactor.post([&] {
      order.push_back(2);
      reactor.stop();
    });
    order.push_back(1);
  });
  reactor.run();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(Reactor, TellsTheLengthOfEachTurn) {
  Reactor reactor;
  int turns = 0;
  reactor.on_turn([&](util::Cycles) {
    if (++turns == 3) reactor.stop();
    reactor.post([] {});
  });
  reactor.post([] {});
  reactor.run();
  EXPECT_EQ(turns, 3);
}

TEST(Reactor, RefusesADescriptorThatTheKernelRefuses) {
  struct Target final : EventTarget {
    void on_events(std::uint32_t) noexcept override {}
  } target;
  Reactor reactor;
  EXPECT_FALSE(reactor.add(-1, EPOLLIN, target));
}

TEST(Reactor, ATurnSeesTheClockGoOn) {
  testing::Loop loop;
  auto scenario = [&]() -> Task<void> {
    const std::uint64_t before = loop.reactor.now_ms();
    const auto cycles = loop.reactor.turn_cycles();
    co_await Pause(loop.reactor.after(10));
    EXPECT_GE(loop.reactor.now_ms(), before + 10);
    EXPECT_GT(loop.reactor.turn_cycles(), cycles);
    EXPECT_GT(loop.reactor.unix_seconds(), 1'700'000'000);
  };
  loop.run(scenario());
}

}  // namespace
}  // namespace pontage::net
