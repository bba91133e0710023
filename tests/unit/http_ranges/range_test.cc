// Byte ranges: RFC 9110 14, CASES S01 and S02.
#include "src/http/range.h"

#include <string>

#include <gtest/gtest.h>

namespace pontage::http {
namespace {

std::string describe(std::string_view value, std::uint64_t size) {
  const ByteRange range = parse_range(value, size);
  if (range.kind == RangeKind::whole) return "whole";
  ContentRangeRoom room;
  return std::string(content_range(range, size, room));
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

TEST(Range, IgnoresListsOfRanges) {
  EXPECT_EQ(describe("bytes=0-1,3-4", 50), "whole");
  EXPECT_EQ(describe("bytes=0-1,", 50), "whole");
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
  EXPECT_EQ(requested_range(headers, 50).kind, RangeKind::whole);
  headers.add(message::HeaderId::range, "bytes=0-1");
  EXPECT_EQ(requested_range(headers, 50).kind, RangeKind::part);
  headers.add(message::HeaderId::range, "bytes=3-4");
  EXPECT_EQ(requested_range(headers, 50).kind, RangeKind::whole);
}

}  // namespace
}  // namespace pontage::http
