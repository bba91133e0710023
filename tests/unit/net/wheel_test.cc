// The timer wheel, on a clock of the test's own.
#include "src/net/wheel.h"

#include <deque>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace pontage::net {
namespace {

constexpr std::uint64_t kStart = 1'000'003;  // within a tick
constexpr std::uint64_t kTurn = Wheel::kTickMs * Wheel::kSlots;

std::vector<int> fired;

struct Numbered : Timer {
  explicit Numbered(int n) noexcept : Timer(&Numbered::on_fire), number(n) {}
  static void on_fire(Timer& timer) noexcept { fired.push_back(static_cast<Numbered&>(timer).number); }
  int number;
};

class WheelTest : public ::testing::Test {
 protected:
  void SetUp() override { fired.clear(); }
  Wheel wheel{kStart};
};

TEST_F(WheelTest, FiresInTheOrderOfTheDeadlines) {
  Numbered c(3), a(1), b(2);
  wheel.schedule(c, kStart + 300);
  wheel.schedule(a, kStart + 100);
  wheel.schedule(b, kStart + 200);
  wheel.advance(kStart + 1000);
  EXPECT_EQ(fired, (std::vector<int>{1, 2, 3}));
}

TEST_F(WheelTest, FiresEachOnce) {
  Numbered a(1);
  wheel.schedule(a, kStart + 10);
  for (std::uint64_t t = 0; t < 3 * kTurn; t += 3) wheel.advance(kStart + t);
  EXPECT_EQ(fired.size(), 1U);
}

TEST_F(WheelTest, ADeadlineBeyondOneTurnWaitsForItsOwnRound) {
  for (const std::uint64_t step : {1ULL, 4ULL, 1000ULL, 7777ULL}) {
    Wheel fresh(kStart);
    fired.clear();
    Numbered a(1);
    const std::uint64_t due = kStart + 3 * kTurn + 17;
    fresh.schedule(a, due);
    std::uint64_t now = kStart;
    for (; now < due; now += step) {
      fresh.advance(now);
      ASSERT_TRUE(fired.empty()) << "early by " << due - now;
    }
    fresh.advance(std::max(now, due + Wheel::kTickMs));
    EXPECT_EQ(fired.size(), 1U) << "step " << step;
  }
}

TEST_F(WheelTest, FiresAllThatIsDueAfterASleepOfManyTurns) {
  std::deque<Numbered> timers;
  for (int i = 0; i < 100; ++i) {
    timers.emplace_back(i);
    wheel.schedule(timers.back(), kStart + static_cast<std::uint64_t>(i) * 977);
  }
  wheel.advance(kStart + 50 * kTurn);
  EXPECT_EQ(fired.size(), 100U);
}

TEST_F(WheelTest, SchedulingAgainMoves) {
  Numbered a(1);
  wheel.schedule(a, kStart + 100);
  wheel.schedule(a, kStart + 500);
  wheel.advance(kStart + 200);
  EXPECT_TRUE(fired.empty());
  wheel.schedule(a, kStart + 300);
  wheel.advance(kStart + 304);
  EXPECT_EQ(fired.size(), 1U);
  wheel.advance(kStart + 1000);
  EXPECT_EQ(fired.size(), 1U);
}

TEST_F(WheelTest, WhatWasUnlinkedOrDestroyedDoesNotFire) {
  Numbered a(1);
  {
    Numbered gone(2);
    wheel.schedule(gone, kStart + 100);
  }
  wheel.schedule(a, kStart + 100);
  a.unlink();
  wheel.advance(kStart + 1000);
  EXPECT_TRUE(fired.empty());
}

TEST_F(WheelTest, ATimerMaySchedulesItselfWhileItFires) {
  struct Repeating : Timer {
    explicit Repeating(Wheel& w) noexcept : Timer(&Repeating::on_fire), wheel(&w) {}
    static void on_fire(Timer& timer) noexcept {
      auto& self = static_cast<Repeating&>(timer);
      fired.push_back(0);
      self.wheel->schedule(self, self.due());  // overdue already: the next advance has it
    }
    Wheel* wheel;
  } repeating(wheel);
  wheel.schedule(repeating, kStart + 1);
  for (std::uint64_t i = 1; i <= 5; ++i) wheel.advance(kStart + 4 * i);
  EXPECT_EQ(fired.size(), 5U);
}

TEST_F(WheelTest, ATimerMayDestroyAnotherThatIsDueWithIt) {
  struct Killer : Timer {
    explicit Killer(std::unique_ptr<Numbered>& v) noexcept : Timer(&Killer::on_fire), victim(&v) {}
    static void on_fire(Timer& timer) noexcept { static_cast<Killer&>(timer).victim->reset(); }
    std::unique_ptr<Numbered>* victim;
  };
  auto victim = std::make_unique<Numbered>(1);
  Killer killer(victim);
  wheel.schedule(killer, kStart + 10);
  wheel.schedule(*victim, kStart + 10);
  wheel.advance(kStart + 20);
  EXPECT_EQ(victim, nullptr);
  EXPECT_TRUE(fired.empty());
}

TEST_F(WheelTest, NextInIsTheCapWhenNothingWaits) {
  EXPECT_EQ(wheel.next_in(kStart, 12345), 12345U);
}

TEST_F(WheelTest, NextInNeverOversleepsAndFiringNeverComesEarlyOrATickLate) {
  std::mt19937_64 random(20260101);
  std::deque<Numbered> timers;
  std::vector<std::uint64_t> due;
  std::uint64_t now = kStart;
  std::uint64_t before = now;
  for (int round = 0; round < 4000; ++round) {
    for (std::uint64_t i = random() % 3; i > 0; --i) {
      due.push_back(now + random() % (round % 10 == 0 ? 5 * kTurn : 400));
      timers.emplace_back(static_cast<int>(timers.size()));
      wheel.schedule(timers.back(), due.back());
    }
    const std::uint64_t sleep = wheel.next_in(now, 10'000);
    for (const auto& timer : timers) {
      if (timer.linked() && timer.due() > now) {
        ASSERT_LT(now + sleep, timer.due() + Wheel::kTickMs);
      }
    }
    before = now;
    now += random() % 2 == 0 ? sleep : random() % 30;
    fired.clear();
    wheel.advance(now);
    for (const int number : fired) {
      const std::uint64_t wanted = due[static_cast<std::size_t>(number)];
      ASSERT_LE(wanted, now) << "early";
      ASSERT_GT(wanted + Wheel::kTickMs, before) << "more than a tick late";
    }
  }
  wheel.advance(now + 6 * kTurn);
  for (const auto& timer : timers) EXPECT_FALSE(timer.linked());
}

}  // namespace
}  // namespace pontage::net
