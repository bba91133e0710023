#include "src/observe/access_record.h"

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "src/observe/escape.h"

namespace pontage::observe {
namespace {

std::string text_of(void (*format)(const AccessRecord&, wire::Sink&) noexcept, const AccessRecord& record) {
  std::vector<char> room(kMaxAccessLine);
  wire::Sink out{std::span(room)};
  format(record, out);
  EXPECT_FALSE(out.overflowed());
  return std::string(out.view());
}
std::string combined(const AccessRecord& record) {
  return text_of(format_combined, record);
}
std::string json(const AccessRecord& record) {
  return text_of(format_json, record);
}

AccessRecord sample() {
  AccessRecord record;
  record.time_ns = 1'791'640'536'123'456'789;  // 2026-10-10T13:55:36.123Z
  record.client = "192.0.2.1";
  record.peer = "10.0.0.1";
  record.method = "GET";
  record.host = "example.org";
  record.target = "/a?b=c";
  record.version = "HTTP/1.1";
  record.status = 200;
  record.bytes_in = 120;
  record.bytes_out = 2326;
  record.referer = "http://example.org/";
  record.user_agent = "curl/8";
  return record;
}

TEST(AccessCombined, IsApachesForm) {
  EXPECT_EQ(combined(sample()),
            "192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] \"GET /a?b=c HTTP/1.1\" 200 2326 \"http://example.org/\" "
            "\"curl/8\"\n");
}

TEST(AccessCombined, IsWrittenForARequestThatWasNotUnderstood) {
  EXPECT_EQ(combined(AccessRecord{.status = 400}), "- - - [01/Jan/1970:00:00:00 +0000] \"-\" 400 - \"-\" \"-\"\n");
  const AccessRecord rejected{
      .client = "::1", .target = std::string_view("GET /\0\x1b[31m x", 13), .status = 400, .bytes_out = 7};
  EXPECT_EQ(combined(rejected), "::1 - - [01/Jan/1970:00:00:00 +0000] \"GET /\\x00\\x1B[31m x\" 400 7 \"-\" \"-\"\n");
}

TEST(AccessCombined, EscapesWhatCouldBreakALineOrATerminal) {
  auto record = sample();
  record.client = "a b\"";
  record.target = "/\"\\\r\n";
  record.user_agent = "foo \" bar\x1b[31m\xff\xfe\x7f";
  const std::string line = combined(record);
  EXPECT_TRUE(line.starts_with("a\\x20b\\x22 - - ["));
  EXPECT_THAT(line, ::testing::HasSubstr("\"GET /\\x22\\x5C\\x0D\\x0A HTTP/1.1\""));
  EXPECT_THAT(line, ::testing::HasSubstr("\"foo \\x22 bar\\x1B[31m\\xFF\\xFE\\x7F\"\n"));
}

TEST(AccessJson, HoldsEveryFieldInAFixedOrder) {
  auto record = sample();
  record.request_id = "id1";
  record.trace_id = "t1";
  record.route = "/a";
  record.backend = "app";
  record.server = "s1";
  record.attempts = 2;
  record.cache = "miss";
  record.end = "--";
  record.error = "none";
  record.phases = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(json(record),
            R"({"ts":"2026-10-10T13:55:36.123Z","id":"id1","trace_id":"t1","client":"192.0.2.1",)"
            R"("peer":"10.0.0.1","method":"GET",)"
            R"("host":"example.org","uri":"/a?b=c","proto":"HTTP/1.1","status":200,)"
            R"("bytes_in":120,"bytes_out":2326,"route":"/a",)"
            R"("backend":"app","server":"s1","attempts":2,"cache":"miss","referer":"http://example.org/",)"
            R"("ua":"curl/8","t_parse":1,)"
            R"("t_queue":2,"t_connect":3,"t_send":4,"t_wait":5,"t_transfer":6,"t_loop":7,"t_total":8,"t_toll":9,)"
            R"("end":"--","err":"none"})"
            "\n");
}

TEST(AccessJson, GivesBackWhatWasPutInWhenItIsUtf8) {
  auto record = sample();
  record.user_agent = "q\" b\\ n\n t\t e\x1b d\x7f c1\xc2\x9b \xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\x89";
  const std::string line = json(record);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_EQ(line.find("\xc2\x9b"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(line).at("ua").get<std::string>(), record.user_agent);
}

TEST(AccessJson, IsValidWhateverTheBytesAre) {
  // Every pair of bytes, and the classic malformed sequences among them.
  for (unsigned first = 0; first < 256; ++first) {
    std::string bytes;
    for (unsigned second = 0; second < 256; ++second)
      bytes.append({static_cast<char>(first), static_cast<char>(second)});
    AccessRecord record;
    record.referer = bytes;
    const auto parsed = nlohmann::json::parse(json(record), nullptr, false);  // it checks UTF-8
    ASSERT_FALSE(parsed.is_discarded()) << first;
  }
  for (const std::string_view bad :
       {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf0\x80\x80\x80", "\xe2\x82", "\xff", "\x80"}) {
    AccessRecord record;
    record.referer = bad;
    const auto parsed = nlohmann::json::parse(json(record), nullptr, false);
    ASSERT_FALSE(parsed.is_discarded());
    EXPECT_THAT(parsed.at("referer").get<std::string>(), ::testing::StartsWith("\xef\xbf\xbd"));
  }
}

TEST(AccessRecord, TheLongestLineFits) {
  const std::string huge(100'000, '\x01');
  AccessRecord record{.request_id = huge,
                      .trace_id = huge,
                      .client = huge,
                      .peer = huge,
                      .method = huge,
                      .host = huge,
                      .target = huge,
                      .version = huge,
                      .status = 65535,
                      .bytes_in = ~0ULL,
                      .bytes_out = ~0ULL,
                      .route = huge,
                      .backend = huge,
                      .server = huge,
                      .attempts = ~0U,
                      .cache = huge,
                      .referer = huge,
                      .user_agent = huge,
                      .end = huge,
                      .error = huge,
                      .phases = {~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL}};
  EXPECT_TRUE(nlohmann::json::accept(json(record)));
  EXPECT_EQ(combined(record).back(), '\n');
}

TEST(Escape, FindsEveryByteAtEveryPlace) {
  for (unsigned c = 0; c < 256; ++c) {
    for (std::size_t place = 0; place < 24; ++place) {
      std::string text(24, 'a');
      text[place] = static_cast<char>(c);
      std::array<char, 64> room{};
      wire::Sink out{std::span(room)};
      append_escaped(out, text);
      const bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
      std::array<char, 5> hex{};
      std::snprintf(hex.data(), hex.size(), "\\x%02X", c);
      const std::string want =
          std::string(place, 'a') + (plain ? text.substr(place, 1) : hex.data()) + std::string(23 - place, 'a');
      ASSERT_EQ(out.view(), want);
    }
  }
}

TEST(Escape, KeepsUtf8InTheErrorLogAndEscapesControls) {
  std::array<char, 256> room{};
  wire::Sink out{std::span(room)};
  append_printable(out, "caf\xc3\xa9 \"q\" \x1b[0m \n \xff \xc2\x9b.");
  EXPECT_EQ(out.view(), "caf\xc3\xa9 \"q\" \\x1B[0m \\x0A \\xFF \\xC2\\x9B.");
}

}  // namespace
}  // namespace pontage::observe
