// When a connection guesses the size of its next answer (PERF.md 7).
#include "src/upstream/answer_mark.h"

#include <gtest/gtest.h>

namespace pontage::upstream {
namespace {

constexpr std::size_t kRoom = 16 * 1024;

void answers(AnswerMark& mark, std::uint32_t count, std::size_t bytes, std::uint64_t took_ms = 1) {
  for (std::uint32_t i = 0; i < count; ++i) mark.answered(bytes, took_ms);
}

TEST(AnswerMark, GuessesOnlyAfterItHasSeenSomeAnswers) {
  AnswerMark mark;
  answers(mark, AnswerMark::kLearn - 1, 300);
  EXPECT_EQ(mark.next(kRoom), 0U);
  answers(mark, 1, 300);
  EXPECT_EQ(mark.next(kRoom), 300U);
}

TEST(AnswerMark, IsTheLeastOfTheLastAnswers) {
  AnswerMark mark;
  answers(mark, AnswerMark::kLearn, 900);
  answers(mark, 1, 200);
  answers(mark, 1, 900);
  EXPECT_EQ(mark.next(kRoom), 200U);
}

TEST(AnswerMark, ForgetsASmallAnswerWithTime) {
  AnswerMark mark;
  answers(mark, 1, 200);
  answers(mark, 3 * AnswerMark::kBlock, 900);
  EXPECT_EQ(mark.next(kRoom), 900U);
}

TEST(AnswerMark, IsNoneWhenOneReadCannotTakeIt) {
  AnswerMark mark;
  answers(mark, AnswerMark::kLearn, kRoom + 1);
  EXPECT_EQ(mark.next(kRoom), 0U);
}

TEST(AnswerMark, RestsLongerAfterEachFailureInARow) {
  AnswerMark mark;
  answers(mark, AnswerMark::kLearn, 300);
  mark.failed();
  answers(mark, AnswerMark::kLearn, 300);
  ASSERT_EQ(mark.next(kRoom), 300U);
  mark.failed();
  answers(mark, AnswerMark::kLearn, 300);
  EXPECT_EQ(mark.next(kRoom), 0U);
  answers(mark, AnswerMark::kLearn, 300);
  EXPECT_EQ(mark.next(kRoom), 300U);
}

TEST(AnswerMark, RestsShortlyAgainAfterASuccess) {
  AnswerMark mark;
  answers(mark, AnswerMark::kLearn, 300);
  for (int i = 0; i < 20; ++i) mark.failed();
  answers(mark, AnswerMark::kLearn << AnswerMark::kMostRest, 300);
  ASSERT_EQ(mark.next(kRoom), 300U);
  mark.helped();
  mark.failed();
  answers(mark, AnswerMark::kLearn, 300);
  EXPECT_EQ(mark.next(kRoom), 300U);
}

TEST(AnswerMark, WaitsAFewTimesWhatAnAnswerTakesWithinBounds) {
  AnswerMark mark;
  EXPECT_EQ(mark.patience_ms(), AnswerMark::kLeastMs);
  answers(mark, 200, 300, 5);
  EXPECT_GE(mark.patience_ms(), 16U);
  EXPECT_LE(mark.patience_ms(), 20U);
  answers(mark, 200, 300, 100000);
  EXPECT_LE(mark.patience_ms(), AnswerMark::kMostMs);
}

}  // namespace
}  // namespace pontage::upstream
