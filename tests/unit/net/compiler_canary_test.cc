// Why ARCHITECTURE forbids some co_await expressions: g++ 12 destroys twice, or never, what they make on the way. These
// tests pass on every compiler: where the fault exists they show it, elsewhere they show that it is gone. When they
// fail on a new g++, the rule may go.
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/net/loop.h"

namespace pontage::net {
namespace {

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ == 12
constexpr bool kFaulty = true;
#else
constexpr bool kFaulty = false;
#endif

int made = 0;
int destroyed = 0;

struct Counted {
  Counted() noexcept { ++made; }
  Counted(const Counted&) noexcept { ++made; }
  Counted(Counted&&) noexcept { ++made; }
  Counted& operator=(const Counted&) noexcept = default;
  ~Counted() { ++destroyed; }
};
struct Aggregate {
  Counted first;
  int second = 0;
};

void start_counting() {
  made = destroyed = 0;
}
int surplus() {
  return destroyed - made;
}

Task<int> takes(const Aggregate& value) {
  co_await Yield();
  co_return value.second;
}
Task<Counted> gives() {
  co_await Yield();
  Counted value;
  co_return value;
}
Task<int> uses(const Counted&) {
  co_return 1;
}

TEST(CompilerCanary, ABraceInitialisedAggregateInAnAwait) {
  testing::Loop loop;
  start_counting();
  auto scenario = [&]() -> Task<void> { co_await takes(Aggregate{Counted{}, 2}); };
  loop.run(scenario());
  RecordProperty("surplus", surplus());
  EXPECT_EQ(surplus() != 0, kFaulty) << "destroyed " << destroyed << " of " << made;
}

TEST(CompilerCanary, AConditionalOfTwoAwaits) {
  testing::Loop loop;
  start_counting();
  auto scenario = [&]() -> Task<void> {
    for (const bool first : {true, false}) {
      const Counted got = first ? co_await gives() : co_await gives();
      static_cast<void>(got);
    }
  };
  loop.run(scenario());
  RecordProperty("surplus", surplus());
  EXPECT_EQ(surplus() != 0, kFaulty) << "destroyed " << destroyed << " of " << made;
}

// What the rule asks for instead is right everywhere.
TEST(CompilerCanary, NamedObjectsAreDestroyedOnce) {
  testing::Loop loop;
  start_counting();
  auto scenario = [&]() -> Task<void> {
    const Aggregate named{Counted{}, 2};
    co_await takes(named);
    for (const bool first : {true, false}) {
      if (first) {
        const Counted got = co_await gives();
        co_await uses(got);
      } else {
        const Counted got = co_await gives();
        co_await uses(got);
      }
    }
  };
  loop.run(scenario());
  EXPECT_EQ(surplus(), 0) << "destroyed " << destroyed << " of " << made;
}

}  // namespace
}  // namespace pontage::net
