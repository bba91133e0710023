// Who stays and who leaves.
#include "src/cache/eviction.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pontage::cache {
namespace {

class Eviction : public ::testing::Test {
 protected:
  // A hundred entries of cost 1 have room; ten of them as newcomers.
  FileEntry& entry(std::uint64_t hash, std::uint64_t cost = 1) {
    entries.push_back(FileEntry::make({}));
    entries.back()->cache.hash = hash;
    entries.back()->cache.cost = cost;
    return *entries.back().get();
  }
  void add(FileEntry& added) {
    queue.add(added);
    while (queue.victim() != nullptr) continue;
  }
  void flood(std::uint64_t from, int count) {
    for (int i = 0; i < count; ++i) add(entry(from + static_cast<std::uint64_t>(i)));
  }
  std::vector<EntryRef> entries;
  EvictionQueue queue{100};
};

TEST_F(Eviction, WhatWasAskedForAgainOutlivesAnyNumberOfOthers) {
  FileEntry& kept = entry(1);
  add(kept);
  EvictionQueue::touch(kept);
  flood(1000, 5000);
  EXPECT_TRUE(kept.linked());
  EXPECT_EQ(queue.cost(), 100U);
}

TEST_F(Eviction, WhatNobodyAskedForLeavesFirst) {
  FileEntry& asked = entry(1);
  FileEntry& ignored = entry(2);
  add(ignored);
  add(asked);
  EvictionQueue::touch(asked);
  flood(1000, 99);
  EXPECT_TRUE(asked.linked());
  EXPECT_FALSE(ignored.linked());
}

TEST_F(Eviction, WhatReturnsSoonIsBelievedAtOnce) {
  flood(1000, 100);
  FileEntry& returning = entry(1);
  add(returning);
  flood(2000, 100);
  ASSERT_FALSE(returning.linked());
  add(returning);
  flood(3000, 5000);
  EXPECT_TRUE(returning.linked());
}

TEST_F(Eviction, WhatIsNoLongerAskedForLeavesInTheEnd) {
  FileEntry& past = entry(1);
  add(past);
  for (int i = 0; i < 100; ++i) EvictionQueue::touch(past);
  for (std::uint64_t round = 0; past.linked() && round < 10; ++round) {
    for (std::uint64_t i = 0; i < 100; ++i) {
      FileEntry& popular = entry(1000 + round * 100 + i);
      queue.add(popular);
      EvictionQueue::touch(popular);
      while (queue.victim() != nullptr) continue;
    }
  }
  EXPECT_FALSE(past.linked());
}

TEST_F(Eviction, CostsAreExactWhateverLeavesWhichWay) {
  FileEntry& small = entry(1, 7);
  FileEntry& large = entry(2, 40);
  add(small);
  add(large);
  EXPECT_EQ(queue.cost(), 47U);
  EvictionQueue::touch(large);
  flood(1000, 60);
  EXPECT_TRUE(large.linked());
  queue.remove(large);
  const bool gone = !small.linked();
  if (!gone) queue.remove(small);
  for (const EntryRef& other : entries) {
    if (other.get()->linked()) queue.remove(*other.get());
  }
  EXPECT_EQ(queue.cost(), 0U);
  EXPECT_EQ(queue.victim(), nullptr);
}

TEST_F(Eviction, WhatDoesNotFitLeavesByItself) {
  FileEntry& huge = entry(1, 101);
  add(huge);
  EXPECT_FALSE(huge.linked());
  EXPECT_EQ(queue.cost(), 0U);
}

TEST(DepartedNames, RemembersAsManyAsItIsToldAndGrowsWithoutForgetting) {
  DepartedNames names;
  EXPECT_FALSE(names.take(5));
  names.remember(5);
  EXPECT_FALSE(names.take(5)) << "no room yet";
  const auto hash = [](std::uint64_t i) { return i * 0x9E3779B97F4A7C15ULL >> 16; };
  names.grow_to(64);
  for (std::uint64_t i = 0; i < 32; ++i) names.remember(hash(i));
  int before = 0;
  for (std::uint64_t i = 0; i < 16; ++i) before += names.take(hash(i));
  EXPECT_GE(before, 15);
  EXPECT_FALSE(names.take(hash(1))) << "taken";
  names.grow_to(4096);
  int after = 0;
  for (std::uint64_t i = 16; i < 32; ++i) after += names.take(hash(i));
  EXPECT_EQ(after, 16);
}

TEST(DepartedNames, ForgetsTheOldestFirst) {
  DepartedNames names;
  names.grow_to(64);
  for (std::uint64_t i = 1; i <= 1000; ++i) names.remember(i);
  for (std::uint64_t i = 1; i <= 936; ++i) EXPECT_FALSE(names.take(i));
  for (std::uint64_t i = 937; i <= 1000; ++i) EXPECT_TRUE(names.take(i));
}

}  // namespace
}  // namespace pontage::cache
