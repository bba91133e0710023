// Byte ranges: RFC 9110 14, CASES S01 and S02.
#include "src/http/range.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pontage::http {
namespace {

// The ranges as Content-Range says them, with a space between.
std::string describe(std::string_view value, std::uint64_t size, std::size_t most = 16) {
  const RangeSet set = parse_ranges(value, size, most);
  ContentRangeRoom room;
  if (set.kind == RangeKind::whole) return "whole";
  if (set.kind == RangeKind::unsatisfiable) return std::string(content_range({set.kind}, size, room));
  std::string text;
  for (const ByteRange& range : set.view()) {
    if (!text.empty()) text += ' ';
    text += content_range(range, size, room);
  }
  return text;
}

TEST(Range, ClampsASuffixLongerThanTheFile) {
  EXPECT_EQ(describe("bytes=-500", 50), "bytes 0-49/50");
}

TEST(Range, TakesASuffix) {
  EXPECT_EQ(describe("bytes=-1", 50), "bytes 49-49/50");
}

TEST(Range, UnderstandsNumbersOfAnyLength) {
  EXPECT_EQ(describe("bytes=0-99999999999999999999", 50), "bytes 0-49/50");
  EXPECT_EQ(describe("bytes=99999999999999999999-", 50), "bytes */50");
  EXPECT_EQ(describe("bytes=-99999999999999999999999999", 50), "bytes 0-49/50");
  EXPECT_EQ(describe("bytes=00000000000000000000000001-2", 50), "bytes 1-2/50");
  EXPECT_EQ(describe("bytes=18446744073709551615-18446744073709551615", 50), "bytes */50");
}

TEST(Range, TakesTheLastByte) {
  EXPECT_EQ(describe("bytes=49-", 50), "bytes 49-49/50");
  EXPECT_EQ(describe("bytes=49-49", 50), "bytes 49-49/50");
}

TEST(Range, RefusesAStartBehindTheEnd) {
  EXPECT_EQ(describe("bytes=50-", 50), "bytes */50");
  EXPECT_EQ(describe("bytes=50-60", 50), "bytes */50");
}

TEST(Range, NeverAnswersAnEmptyRange) {
  EXPECT_EQ(describe("bytes=-0", 10), "bytes */10");
  EXPECT_EQ(describe("bytes=-0", 0), "bytes */0");
  EXPECT_EQ(describe("bytes=0-", 0), "bytes */0");
  EXPECT_EQ(describe("bytes=-5", 0), "whole");
}

TEST(Range, IgnoresWhatIsMalformed) {
  for (const auto* value :
       {"bytes=5-2", "bytes= 0-1", "bytes=0 -1", "bytes=", "bytes=-", "bytes=a-b", "bytes=0-1x", "bytes=1", "bytes=--1",
        "bytes=+1-2", "bytes 0-1", "", "lines=0-1", "bytes=0x1-2", "bytes=0-1-2"}) {
    EXPECT_EQ(describe(value, 50), "whole") << value;
  }
}

TEST(Range, TakesListsInTheOrderAskedFor) {
  EXPECT_EQ(describe("bytes=0-1,500-509,-5", 1000), "bytes 0-1/1000 bytes 500-509/1000 bytes 995-999/1000");
  EXPECT_EQ(describe("bytes=-5 ,\t0-1", 1000), "bytes 995-999/1000 bytes 0-1/1000");
  EXPECT_EQ(describe("bytes=0-1,", 50), "bytes 0-1/50");
  EXPECT_EQ(describe("bytes=,,0-1,,", 50), "bytes 0-1/50");
}

TEST(Range, LeavesOutWhatLiesBehindTheEnd) {
  EXPECT_EQ(describe("bytes=5000-,3-4,9999-", 1000), "bytes 3-4/1000");
  EXPECT_EQ(describe("bytes=5000-,9999-,-0", 1000), "bytes */1000");
}

TEST(Range, OneMalformedMemberSpoilsTheList) {
  EXPECT_EQ(describe("bytes=0-1,x", 50), "whole");
  EXPECT_EQ(describe("bytes=0-1,5-2", 50), "whole");
}

TEST(Range, JoinsWhatOverlapsTouchesOrIsNear) {
  EXPECT_EQ(describe("bytes=0-99,50-149,150-199", 1000), "bytes 0-199/1000");
  EXPECT_EQ(describe("bytes=0-9,89-99", 1000), "bytes 0-99/1000") << "a gap of 79";
  EXPECT_EQ(describe("bytes=0-9,90-99", 1000), "bytes 0-9/1000 bytes 90-99/1000") << "a gap of 80";
  EXPECT_EQ(describe("bytes=500-509,0-9,200-520", 1000), "bytes 200-520/1000 bytes 0-9/1000");
  EXPECT_EQ(describe("bytes=0-9,500-509,900-909,10-899", 1000), "bytes 0-909/1000");
  EXPECT_EQ(describe("bytes=0-,-1", 1000), "bytes 0-999/1000");
}

TEST(Range, IgnoresMoreThanItsLimit) {
  EXPECT_EQ(describe("bytes=0-1,200-201", 1000, 2), "bytes 0-1/1000 bytes 200-201/1000");
  EXPECT_EQ(describe("bytes=0-1,200-201,400-401", 1000, 2), "whole");
  EXPECT_EQ(describe("bytes=0-1", 1000, 0), "whole");
  std::string many = "bytes=0-0";
  for (int i = 1; i < 65; ++i) many += "," + std::to_string(i * 100) + "-" + std::to_string(i * 100);
  EXPECT_EQ(describe(many, 100'000, 1000), "whole");
}

// What is served is what was asked for, and the gaps that are not worth a part of their own.
TEST(Range, ServesEveryByteAskedForAndNoneTwice) {
  std::mt19937 random(7);
  const auto up_to = [&](unsigned most) { return random() % (most + 1); };
  for (int round = 0; round < 5000; ++round) {
    const unsigned size = 1 + up_to(600);
    std::vector<bool> asked(size);
    std::string value = "bytes=";
    for (unsigned i = 0, count = 1 + up_to(7); i < count; ++i) {
      const unsigned first = up_to(700), last = first + up_to(60);
      value += (i == 0 ? "" : ",") + std::to_string(first) + "-" + std::to_string(last);
      for (unsigned at = first; at <= last && at < size; ++at) asked[at] = true;
    }
    const RangeSet set = parse_ranges(value, size, 16);
    std::vector<bool> served(size);
    for (const ByteRange& range : set.view()) {
      ASSERT_GT(range.count, 0U);
      ASSERT_LE(range.first + range.count, size) << value;
      for (std::uint64_t at = range.first; at < range.first + range.count; ++at) {
        ASSERT_FALSE(served[at]) << value;
        served[at] = true;
      }
    }
    unsigned gap = 0;
    for (unsigned at = 0; at < size; ++at) {
      ASSERT_TRUE(served[at] || !asked[at]) << value << " of " << size;
      gap = served[at] && !asked[at] ? gap + 1 : 0;
      ASSERT_LT(gap, 80U) << value << " of " << size;
    }
  }
}

TEST(Range, KnowsItsUnitInAnyCase) {
  EXPECT_EQ(describe("Bytes=0-1", 50), "bytes 0-1/50");
}

TEST(Range, WorksPastFourGibibytes) {
  EXPECT_EQ(describe("bytes=5000000000-5000000009", 6'000'000'000ULL), "bytes 5000000000-5000000009/6000000000");
  EXPECT_EQ(describe("bytes=-1", 1ULL << 62), "bytes 4611686018427387903-4611686018427387903/4611686018427387904");
}

TEST(Range, IgnoresRepeatedFields) {
  message::Arena arena;
  message::HeaderList headers(arena);
  EXPECT_EQ(requested_ranges(headers, 50, 16).kind, RangeKind::whole);
  headers.add(message::HeaderId::range, "bytes=0-1");
  EXPECT_EQ(requested_ranges(headers, 50, 16).kind, RangeKind::part);
  headers.add(message::HeaderId::range, "bytes=3-4");
  EXPECT_EQ(requested_ranges(headers, 50, 16).kind, RangeKind::whole);
}

}  // namespace
}  // namespace pontage::http
