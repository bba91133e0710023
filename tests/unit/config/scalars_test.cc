#include "src/config/scalars.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace pontage::config {
namespace {

TEST(Scalars, ReadsDurationsOfEveryUnit) {
  EXPECT_EQ(*parse_duration("250ms"), 250);
  EXPECT_EQ(*parse_duration("10s"), 10'000);
  EXPECT_EQ(*parse_duration("2m"), 120'000);
  EXPECT_EQ(*parse_duration("1h"), 3'600'000);
  EXPECT_EQ(*parse_duration("1d"), 86'400'000);
  EXPECT_EQ(*parse_duration("0"), 0);
}

TEST(Scalars, RefusesDurationsWithoutUnitAndWithFractions) {
  for (const auto* text :
       {"10", "1.5s", "", "s", "-1s", "10 s", "10sec", "010s", "1e3s", "99999999999999999d", "0x10s"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(Scalars, ReadsSizesAsPowersOfTwo) {
  EXPECT_EQ(*parse_size("512B"), 512);
  EXPECT_EQ(*parse_size("8KiB"), 8192);
  EXPECT_EQ(*parse_size("10MiB"), 10 << 20);
  EXPECT_EQ(*parse_size("1GiB"), 1LL << 30);
}

TEST(Scalars, SuggestsTheUnitThatWasMeant) {
  EXPECT_NE(parse_size("64k").error().find("`64KiB`"), std::string::npos);
  EXPECT_NE(parse_size("10MB").error().find("`10MiB`"), std::string::npos);
  EXPECT_NE(parse_duration("10sec").error().find("`10s`"), std::string::npos);
}

TEST(Scalars, RefusesSizesThatOverflow) {
  EXPECT_FALSE(parse_size("9223372036854775807KiB"));
}

TEST(Scalars, ReadsRatesAndPercents) {
  EXPECT_EQ(*parse_rate("240B/s"), 240);
  EXPECT_EQ(*parse_rate("1KiB/s"), 1024);
  EXPECT_EQ(*parse_rate("0"), 0);
  EXPECT_FALSE(parse_rate("240"));
  EXPECT_FALSE(parse_rate("240B"));
  EXPECT_EQ(*parse_percent("20%"), 20);
  EXPECT_FALSE(parse_percent("20"));
  EXPECT_FALSE(parse_percent("%"));
}

TEST(Scalars, ReadsDecimalIntegersOnly) {
  EXPECT_EQ(*parse_integer("10"), 10);
  EXPECT_EQ(*parse_integer("-3"), -3);
  EXPECT_EQ(*parse_integer("0"), 0);
  for (const auto* text : {"010", "0x10", "1_000", "1e3", "", "-", "+1", " 1", "99999999999999999999"}) {
    EXPECT_FALSE(parse_integer(text)) << text;
  }
}

TEST(Scalars, FormatsWhatItReads) {
  for (const auto* text : {"250ms", "10s", "2m", "1h", "1d", "0s"})
    EXPECT_EQ(format_duration(*parse_duration(text)), text);
  for (const auto* text : {"512B", "8KiB", "10MiB", "1GiB", "0B"}) EXPECT_EQ(format_size(*parse_size(text)), text);
}

TEST(Scalars, ReplacesVariablesOfTheEnvironment) {
  ::setenv("PONTAGE_TEST_A", "one", 1);
  ::unsetenv("PONTAGE_TEST_NONE");
  EXPECT_EQ(*expand_environment("x${PONTAGE_TEST_A}y${PONTAGE_TEST_A}"), "xoneyone");
  EXPECT_EQ(*expand_environment("a $b $$ {c}"), "a $b $$ {c}");
  EXPECT_EQ(*expand_environment("$${PONTAGE_TEST_A}"), "${PONTAGE_TEST_A}");
  EXPECT_NE(expand_environment("${PONTAGE_TEST_NONE}").error().find("PONTAGE_TEST_NONE"), std::string::npos);
  EXPECT_FALSE(expand_environment("${PONTAGE_TEST_A"));
  EXPECT_FALSE(expand_environment("${}"));
  EXPECT_FALSE(expand_environment("${1A}"));
}

TEST(Scalars, MeasuresEditDistance) {
  EXPECT_EQ(edit_distance("listeners", "liseners"), 1U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("ABC", "abc"), 0U);
}

}  // namespace
}  // namespace pontage::config
