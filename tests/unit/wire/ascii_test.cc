#include "protocols/wire/ascii.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pontage::wire {
namespace {

std::vector<std::string> elements(std::string_view list) {
  std::vector<std::string> out;
  for_each_element(list, [&](std::string_view element) { out.emplace_back(element); });
  return out;
}

TEST(Ascii, TokensHoldNoSeparatorsAndAreNotEmpty) {
  EXPECT_TRUE(is_token("X-Forwarded_For.1~"));
  EXPECT_FALSE(is_token(""));
  for (const char c : std::string_view(" \t:,;()<>@\"/[]?={}\x7f\x80")) EXPECT_FALSE(is_token_char(c)) << int{c};
  EXPECT_FALSE(is_token_char('\0'));
}

TEST(Ascii, FieldValuesHoldTabsAndHighBytesButNoOtherControls) {
  EXPECT_TRUE(is_field_value("a\tb \xc3\xa9"));
  EXPECT_TRUE(is_field_value(""));
  for (int c = 0; c < 0x20; ++c) EXPECT_EQ(is_field_value_char(static_cast<char>(c)), c == '\t') << c;
  EXPECT_FALSE(is_field_value_char('\x7f'));
}

TEST(Ascii, DecimalTakesDigitsUpToTwoToThe63MinusOne) {
  EXPECT_EQ(parse_decimal("0"), 0U);
  EXPECT_EQ(parse_decimal("0042"), 42U);
  EXPECT_EQ(parse_decimal("9223372036854775807"), 0x7fffffffffffffffULL);
  for (const auto* bad :
       {"", "9223372036854775808", "99999999999999999999", "+1", "-1", " 1", "1 ", "1,1", "0x1", "1.0"}) {
    EXPECT_FALSE(parse_decimal(bad)) << bad;
  }
}

TEST(Ascii, ListsSkipEmptyElementsAndKeepQuotedCommas) {
  EXPECT_EQ(elements(" a , ,b,"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(elements(R"(x="1,\"2",y)"), (std::vector<std::string>{R"(x="1,\"2")", "y"}));
  EXPECT_TRUE(elements(" , ,").empty());
  EXPECT_TRUE(list_has("Upgrade, Keep-Alive", "keep-alive"));
  EXPECT_FALSE(list_has("keep-alive-not", "keep-alive"));
}

TEST(Ascii, ComparesWithoutCaseAndTrimsSpacesAndTabsOnly) {
  EXPECT_TRUE(iequals("ChUnKed", "chunked"));
  EXPECT_FALSE(iequals("[", "{"));
  EXPECT_EQ(trim_ows(" \t a b \t"), "a b");
  EXPECT_EQ(trim_ows("\va"), "\va");
  EXPECT_EQ(trim_ows(" \t "), "");
}

}  // namespace
}  // namespace pontage::wire
