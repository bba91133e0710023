// Conditional requests: RFC 9110 13, CASES S04.
#include "src/http/conditional.h"

#include <initializer_list>
#include <utility>

#include <gtest/gtest.h>

namespace pontage::http {
namespace {

using message::HeaderId;
using message::Method;

constexpr std::int64_t kModified = 784111777;  // Sun, 06 Nov 1994 08:49:37 GMT
constexpr std::int64_t kNow = kModified + 1000;
constexpr std::string_view kSame = "Sun, 06 Nov 1994 08:49:37 GMT";
constexpr std::string_view kBefore = "Sun, 06 Nov 1994 08:49:36 GMT";
constexpr std::string_view kAfter = "Sun, 06 Nov 1994 08:49:38 GMT";
constexpr Validators kStrong{"\"a-b\"", kSame, kModified};
constexpr Validators kWeak{"W/\"a-b\"", kSame, kModified};
constexpr Validators kUndated{"\"a-b\"", {}, 0};

using Fields = std::initializer_list<std::pair<HeaderId, std::string_view>>;

Condition check(Fields fields, Method method = Method::get, const Validators& current = kStrong) {
  message::Arena arena;
  message::HeaderList headers(arena);
  for (const auto& [id, value] : fields) headers.add(id, value);
  return evaluate_conditions(headers, method, current, kNow);
}

RangeUse if_range(Fields fields, const Validators& current = kStrong, std::int64_t now = kNow) {
  message::Arena arena;
  message::HeaderList headers(arena);
  for (const auto& [id, value] : fields) headers.add(id, value);
  return evaluate_if_range(headers, current, now);
}

TEST(Conditional, ProceedsWithoutConditions) {
  EXPECT_EQ(check({}), Condition::proceed);
  EXPECT_EQ(check({{HeaderId::accept, "*/*"}}), Condition::proceed);
}

TEST(Conditional, IfMatchComparesStrongly) {
  EXPECT_EQ(check({{HeaderId::if_match, "\"a-b\""}}), Condition::proceed);
  EXPECT_EQ(check({{HeaderId::if_match, "\"x\", \"a-b\""}}), Condition::proceed);
  EXPECT_EQ(check({{HeaderId::if_match, "*"}}), Condition::proceed);
  EXPECT_EQ(check({{HeaderId::if_match, "W/\"a-b\""}}), Condition::failed);
  EXPECT_EQ(check({{HeaderId::if_match, "\"zz\""}}), Condition::failed);
  EXPECT_EQ(check({{HeaderId::if_match, "W/\"a-b\""}}, Method::get, kWeak), Condition::failed);
}

TEST(Conditional, IfMatchFailsWhenMalformed) {
  for (const auto* value : {"a-b", "\"a-b", "", "w/\"a-b\"", "garbage \"a-b\""}) {
    EXPECT_EQ(check({{HeaderId::if_match, value}}), Condition::failed) << value;
  }
}

TEST(Conditional, IfNoneMatchComparesWeakly) {
  EXPECT_EQ(check({{HeaderId::if_none_match, "\"a-b\""}}), Condition::not_modified);
  EXPECT_EQ(check({{HeaderId::if_none_match, "W/\"a-b\""}}), Condition::not_modified);
  EXPECT_EQ(check({{HeaderId::if_none_match, "\"a-b\""}}, Method::head, kWeak), Condition::not_modified);
  EXPECT_EQ(check({{HeaderId::if_none_match, "\"x,\" , W/\"a-b\""}}), Condition::not_modified);
  EXPECT_EQ(check({{HeaderId::if_none_match, "*"}}), Condition::not_modified);
  EXPECT_EQ(check({{HeaderId::if_none_match, "\"zz\""}}), Condition::proceed);
  EXPECT_EQ(check({{HeaderId::if_none_match, "\"zz"}}), Condition::proceed);
}

TEST(Conditional, IfNoneMatchOfOtherMethodsIsRefused) {
  EXPECT_EQ(check({{HeaderId::if_none_match, "*"}}, Method::put), Condition::failed);
}

TEST(Conditional, ReadsListsSpreadOverSeveralFields) {
  EXPECT_EQ(check({{HeaderId::if_none_match, "\"x\""}, {HeaderId::if_none_match, "\"a-b\""}}), Condition::not_modified);
  EXPECT_EQ(check({{HeaderId::if_match, "\"x\""}, {HeaderId::if_match, "\"a-b\""}}), Condition::proceed);
}

TEST(Conditional, ComparesDates) {
  EXPECT_EQ(check({{HeaderId::if_modified_since, kSame}}), Condition::not_modified);
  EXPECT_EQ(check({{HeaderId::if_modified_since, kAfter}}), Condition::not_modified);
  EXPECT_EQ(check({{HeaderId::if_modified_since, kBefore}}), Condition::proceed);
  EXPECT_EQ(check({{HeaderId::if_modified_since, "Sunday, 06-Nov-94 08:49:37 GMT"}}), Condition::not_modified);
  EXPECT_EQ(check({{HeaderId::if_modified_since, "Sun Nov  6 08:49:37 1994"}}), Condition::not_modified);
  EXPECT_EQ(check({{HeaderId::if_unmodified_since, kSame}}), Condition::proceed);
  EXPECT_EQ(check({{HeaderId::if_unmodified_since, kBefore}}), Condition::failed);
}

TEST(Conditional, IgnoresDatesThatDoNotCount) {
  EXPECT_EQ(check({{HeaderId::if_modified_since, "yesterday"}}), Condition::proceed);
  EXPECT_EQ(check({{HeaderId::if_modified_since, kSame}, {HeaderId::if_modified_since, kSame}}), Condition::proceed);
  EXPECT_EQ(check({{HeaderId::if_modified_since, kSame}}, Method::post), Condition::proceed);
  EXPECT_EQ(check({{HeaderId::if_modified_since, kAfter}}, Method::get, kUndated), Condition::proceed);
  EXPECT_EQ(check({{HeaderId::if_unmodified_since, kBefore}}, Method::get, kUndated), Condition::proceed);
}

TEST(Conditional, TagsComeBeforeDates) {
  EXPECT_EQ(check({{HeaderId::if_none_match, "\"zz\""}, {HeaderId::if_modified_since, kAfter}}), Condition::proceed);
  EXPECT_EQ(check({{HeaderId::if_match, "\"a-b\""}, {HeaderId::if_unmodified_since, kBefore}}), Condition::proceed);
  EXPECT_EQ(check({{HeaderId::if_match, "\"zz\""}, {HeaderId::if_none_match, "\"a-b\""}}), Condition::failed);
  EXPECT_EQ(check({{HeaderId::if_match, "\"a-b\""}, {HeaderId::if_none_match, "\"a-b\""}}), Condition::not_modified);
}

TEST(IfRange, HonoursARangeOfTheCurrentFileOnly) {
  EXPECT_EQ(if_range({}), RangeUse::honour);
  EXPECT_EQ(if_range({{HeaderId::if_range, "\"a-b\""}}), RangeUse::honour);
  EXPECT_EQ(if_range({{HeaderId::if_range, "\"zz\""}}), RangeUse::ignore);
  EXPECT_EQ(if_range({{HeaderId::if_range, "W/\"a-b\""}}), RangeUse::ignore);
  EXPECT_EQ(if_range({{HeaderId::if_range, "W/\"a-b\""}}, kWeak), RangeUse::ignore);
  EXPECT_EQ(if_range({{HeaderId::if_range, "garbage"}}), RangeUse::ignore);
}

TEST(IfRange, TakesExactDatesWhoseSecondIsOver) {
  EXPECT_EQ(if_range({{HeaderId::if_range, kSame}}), RangeUse::honour);
  EXPECT_EQ(if_range({{HeaderId::if_range, kAfter}}), RangeUse::ignore);
  EXPECT_EQ(if_range({{HeaderId::if_range, kSame}}, kStrong, kModified), RangeUse::ignore);
  EXPECT_EQ(if_range({{HeaderId::if_range, ""}}, kUndated), RangeUse::ignore);
}

}  // namespace
}  // namespace pontage::http
