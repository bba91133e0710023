#include "protocols/message/arena.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace pontage::message {
namespace {

TEST(Arena, AlignsWhatItHandsOut) {
  Arena arena;
  arena.chars(3);
  for (const std::size_t align : {1, 2, 4, 8, 16}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.allocate(5, align)) % align, 0U);
  }
}

TEST(Arena, KeepsOldTextsWhenItGrowsPastABlock) {
  Arena arena;
  const auto first = arena.copy("first");
  for (int i = 0; i < 100; ++i) arena.copy(std::string(1000, 'x'));
  const auto large = arena.copy(std::string(3 * Arena::kBlock, 'y'));
  EXPECT_EQ(first, "first");
  EXPECT_EQ(large.size(), 3 * Arena::kBlock);
}

TEST(Arena, RollbackForgetsWhatCameAfterTheMark) {
  Arena arena;
  const auto before = arena.copy("before");
  const auto mark = arena.mark();
  const auto* after = arena.copy("after").data();
  arena.copy(std::string(2 * Arena::kBlock, 'x'));
  arena.rollback(mark);
  EXPECT_EQ(before, "before");
  EXPECT_EQ(arena.copy("again").data(), after);
}

TEST(Arena, RollbackToAnEmptyArenaIsFine) {
  Arena arena;
  const auto mark = arena.mark();
  arena.rollback(mark);
  const auto* first = arena.copy("one").data();
  arena.rollback(mark);
  EXPECT_EQ(arena.copy("two").data(), first);
}

TEST(Arena, JoinsTextsIntoOnePiece) {
  Arena arena;
  EXPECT_EQ(arena.join({"a", "", "bc"}), "abc");
  EXPECT_EQ(arena.join({}), "");
}

}  // namespace
}  // namespace pontage::message
