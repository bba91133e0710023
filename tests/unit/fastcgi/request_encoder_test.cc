// The records that a request becomes, read back by hand (ADAPTERS F1-F4).
#include "protocols/fastcgi/request_encoder.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace pontage::fastcgi {
namespace {

struct Record {
  int type;
  std::string content;
};

std::size_t u8(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text.at(at));
}

std::vector<Record> records(std::string_view bytes) {
  std::vector<Record> out;
  while (!bytes.empty()) {
    EXPECT_EQ(u8(bytes, 0), 1U);
    EXPECT_EQ(u8(bytes, 2) << 8 | u8(bytes, 3), 1U);
    const std::size_t size = u8(bytes, 4) << 8 | u8(bytes, 5);
    EXPECT_EQ(u8(bytes, 6), 0U) << "no padding";
    EXPECT_EQ(u8(bytes, 7), 0U) << "the reserved byte";
    out.push_back({static_cast<int>(u8(bytes, 1)), std::string(bytes.substr(8, size))});
    bytes.remove_prefix(8 + size);
  }
  return out;
}

std::size_t length(std::string_view& text) {
  std::size_t n = u8(text, 0);
  if (n < 128) {
    text.remove_prefix(1);
    return n;
  }
  n = (n & 0x7f) << 24 | u8(text, 1) << 16 | u8(text, 2) << 8 | u8(text, 3);
  text.remove_prefix(4);
  return n;
}

// As PHP does it: each record by itself, so a pair that straddles two would show.
std::vector<std::pair<std::string, std::string>> pairs(const std::vector<Record>& all) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& record : all) {
    if (record.type != 4) continue;
    std::string_view rest = record.content;
    while (!rest.empty()) {
      const std::size_t name = length(rest);
      const std::size_t value = length(rest);
      if (name + value > rest.size()) {
        ADD_FAILURE() << "a pair straddles records";
        return out;
      }
      out.emplace_back(rest.substr(0, name), rest.substr(name, value));
      rest.remove_prefix(name + value);
    }
  }
  return out;
}

struct Bench {
  message::Arena arena;
  cgi::VariableList list{arena};
  std::string bytes;
  wire::Expected<void, TooLarge> encode(Keep keep = Keep::no) {
    bytes.resize(request_room(list));
    wire::Sink sink(bytes);
    auto done = encode_request(sink, list, keep);
    EXPECT_FALSE(sink.overflowed());
    bytes.resize(sink.size());
    return done;
  }
};

TEST(FastCgiRequest, IsBeginThenPairsThenTheirEnd) {
  for (const auto keep : {Keep::no, Keep::yes}) {
    Bench b;
    b.list.add("CONTENT_LENGTH", "5");
    b.list.add("A", "");
    b.list.add(std::string_view("B"), "value");
    ASSERT_TRUE(b.encode(keep));
    const auto all = records(b.bytes);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].type, 1);
    EXPECT_EQ(all[0].content, std::string({0, 1, keep == Keep::yes, 0, 0, 0, 0, 0}));
    EXPECT_EQ(all[2].type, 4);
    EXPECT_TRUE(all[2].content.empty());
    const std::vector<std::pair<std::string, std::string>> expected{{"CONTENT_LENGTH", "5"}, {"A", ""}, {"B", "value"}};
    EXPECT_EQ(pairs(all), expected);
  }
}

TEST(FastCgiRequest, WithoutABodyHasNoContentLength) {
  Bench b;
  b.list.add("CONTENT_LENGTH", "0");
  ASSERT_TRUE(b.encode());
  const auto all = records(b.bytes);
  ASSERT_EQ(all.size(), 2U) << "an empty list is ended once";
  EXPECT_TRUE(pairs(all).empty());
}

TEST(FastCgiRequest, LongNamesAndValuesHaveLongLengths) {
  for (const std::size_t size : {127U, 128U, 255U, 256U, 40000U}) {
    Bench b;
    const std::string text(size, 'x');
    b.list.add(b.arena.copy(text), "v");
    b.list.add("n", b.arena.copy(text));
    ASSERT_TRUE(b.encode());
    const std::vector<std::pair<std::string, std::string>> expected{{text, "v"}, {"n", text}};
    EXPECT_EQ(pairs(records(b.bytes)), expected) << size;
  }
}

TEST(FastCgiRequest, PairsNeverStraddleRecordsAndEveryRecordFits) {
  for (const std::size_t size : {1000U, 21838U, 21839U, 32755U, 32756U, 32757U, 65520U, 65521U}) {
    Bench b;
    std::vector<std::pair<std::string, std::string>> expected;
    for (int i = 0; i < 20; ++i) {
      expected.emplace_back("N" + std::to_string(i % 10), std::string(size, 'x'));
      b.list.add(b.arena.copy(expected.back().first), b.arena.copy(expected.back().second));
    }
    ASSERT_TRUE(b.encode()) << size;
    const auto all = records(b.bytes);
    EXPECT_EQ(pairs(all), expected) << size;
    for (const auto& record : all) EXPECT_LE(record.content.size(), kMostContent);
    EXPECT_TRUE(all.back().content.empty());
    for (std::size_t i = 1; i + 1 < all.size(); ++i) EXPECT_FALSE(all[i].content.empty()) << "ends the list too early";
  }
}

TEST(FastCgiRequest, AVariableLargerThanARecordIsRefusedByName) {
  Bench b;
  b.list.add("SMALL", "x");
  b.list.add("HTTP_COOKIE", b.arena.copy(std::string(65530, 'x')));
  const auto done = b.encode();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().name, "HTTP_COOKIE");
  EXPECT_EQ(done.error().size, 65541U);
  EXPECT_TRUE(b.bytes.empty());
}

TEST(FastCgiRequest, BodyRecordsSayTheirLength) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{255}, std::size_t{256}, kMostContent}) {
    const auto header = stdin_header(n);
    const auto all = records(std::string(header.data(), header.size()) + std::string(n, 'b'));
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].type, 5);
    EXPECT_EQ(all[0].content.size(), n);
  }
}

TEST(FastCgiRequest, EndOfBodyAndAbortAreEmptyRecords) {
  std::array<char, 32> room;
  wire::Sink sink(room);
  encode_stdin_end(sink);
  encode_abort(sink);
  const auto all = records(sink.view());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].type, 5);
  EXPECT_EQ(all[1].type, 2);
  EXPECT_TRUE(all[0].content.empty() && all[1].content.empty());
}

}  // namespace
}  // namespace pontage::fastcgi
