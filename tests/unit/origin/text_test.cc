#include <string>

#include <gtest/gtest.h>

#include "src/origin/json.h"
#include "src/origin/outbox.h"
#include "src/origin/pattern.h"
#include "src/origin/query.h"

namespace pontage::origin {
namespace {

TEST(OriginQuery, ReadsKnownOptionsAndCapsThem) {
  const auto options = parse_options("ms=999999&cpu=7&n=3&token=abc&key=k&chunked=1&trailer=1&close=1&read=1&x&=&y=2");
  EXPECT_EQ(options.ms, 60'000u);
  EXPECT_EQ(options.cpu_us, 7u);
  EXPECT_EQ(options.lines, 3u);
  EXPECT_EQ(options.token, "abc");
  EXPECT_EQ(options.key, "k");
  EXPECT_TRUE(options.chunked && options.trailer && options.close && options.read);
}

TEST(OriginQuery, PassesOverMalformedNumbers) {
  const auto options = parse_options("ms=-1&cpu=x&n=&");
  EXPECT_EQ(options.ms, Options::kUnset);
  EXPECT_EQ(options.cpu_us, 0u);
  EXPECT_EQ(options.lines, 5u);
}

TEST(OriginQuery, SplitsPathsWithoutTheirParameters) {
  std::string_view path = "//app/session;jsessionid=1.a/x";
  EXPECT_EQ(next_segment(path), "app");
  EXPECT_EQ(next_segment(path), "session");
  EXPECT_EQ(next_segment(path), "x");
  EXPECT_EQ(next_segment(path), "");
}

TEST(OriginJson, EscapesWhateverAClientSends) {
  std::string text;
  Json json(text);
  json.begin_object();
  json.text("a\"b", "c\\\n\x80");
  json.number("n", 5);
  json.key("list");
  json.begin_array();
  json.begin_array();
  json.text("x");
  json.flag(false);
  json.end_array();
  json.begin_array();
  json.end_array();
  json.end_array();
  json.flag("last", true);
  json.end_object();
  EXPECT_EQ(text, R"({"a\"b":"c\\\u000a\u0080","n":5,"list":[["x",false],[]],"last":true})");
}

TEST(OriginPattern, RepeatsEverySixtyFourBytes) {
  EXPECT_EQ(pattern(3), "012");
  EXPECT_EQ(pattern(kPatternPiece + 1).size(), kPatternPiece);
  EXPECT_EQ(pattern(200).substr(64, 3), "012");
}

TEST(OriginPattern, ChecksumIsFnv1a) {
  Checksum sum;
  sum.add("foo");
  sum.add("bar");
  EXPECT_EQ(sum.value(), 0x85944171f73967e8ULL);
  EXPECT_EQ(std::string_view(sum.hex().data(), 16), "85944171f73967e8");
}

TEST(OriginOutbox, GrowsUntilTheEncoderHasRoom) {
  Outbox out;
  out.append("a");
  const std::string big(100'000, 'x');
  out.encode([&](wire::Sink& sink) { sink.append(big); });
  out.append("z");
  EXPECT_EQ(out.view(), "a" + big + "z");
  out.clear();
  EXPECT_TRUE(out.empty());
}

TEST(OriginOutbox, DropsWhatIsBeyondItsLimit) {
  Outbox out;
  const std::string big(Outbox::kMost + 1, 'x');
  out.append(big);
  out.encode([&](wire::Sink& sink) { sink.append(big); });
  EXPECT_TRUE(out.empty());
}

}  // namespace
}  // namespace pontage::origin
