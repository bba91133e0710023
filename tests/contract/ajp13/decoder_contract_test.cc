// What every decoder promises, for both of AJP's: the same events whether the input comes whole, byte by byte or cut
// anywhere; a truncated input is never a complete one; garbage is refused or asks for more, within bounds, and never
// crashes.
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/ajp13/samples.h"

namespace pontage::ajp13::testing {
namespace {

struct Case {
  const char* name;
  std::string input;
  int asks = -1;  // below 0: a response; else a request, and how often the container asks for body
};

Seen run(const Case& c, const std::vector<std::string_view>& pieces) {
  if (c.asks < 0) {
    ResponseDecoder decoder(kMinPacket, {});
    return run_response(decoder, pieces);
  }
  RequestDecoder decoder(kMinPacket, {});
  return run_request(decoder, pieces, c.asks);
}

void expect_same(const Seen& a, const Seen& b, const std::string& where) {
  EXPECT_EQ(a.events, b.events) << where;
  EXPECT_EQ(a.body, b.body) << where;
  EXPECT_EQ(a.head, b.head) << where;
  EXPECT_EQ(a.error, b.error) << where;
  EXPECT_EQ(a.done, b.done) << where;
}

std::string request(unsigned method, unsigned count, const std::string& fields) {
  Bytes b;
  b.u8(2)
      .u8(method)
      .str("HTTP/1.1")
      .str("/app/x;jsessionid=1.a")
      .str("192.0.2.7")
      .null()
      .str("example.org")
      .u16(443)
      .u8(1);
  b.u16(count)
      .raw(fields)
      .u8(5)
      .str("a=b")
      .u8(11)
      .u16(256)
      .u8(12)
      .str("secret")
      .u8(10)
      .str("AJP_REMOTE_PORT")
      .str("50000");
  return b.u8(255).to_container();
}

std::vector<Case> cases() {
  Bytes head;
  head.u8(4).u16(200).str("200").u16(4).u16(0xA001).str("text/html").u16(0xA007).str("a=1").u16(0xA007).str("b=2");
  head.str("X-Powered-By").null();
  const auto fields = Bytes().u16(0xA00B).str("example.org").u16(0xA009).str("k=v").str("X-A").str("1").payload();
  const auto length = Bytes().u16(0xA008).str("10").payload();
  const auto flush = chunk("");
  return {
      {"a response with everything", get_body_chunk(8186) + head.to_gateway() + flush + chunk("hello ") +
                                         get_body_chunk(1) + Bytes().u8(3).u16(5).raw("world").to_gateway() +
                                         end_response()},
      {"Undertow's bad request", "\x41\x42\x00\x08\x04\x01\x90\x00\x00\x00\x00\x00\x41\x42\x00\x02\x05\x00"s},
      {"a flush behind the end", flush + bare_head() + end_response(0) + flush},
      {"a full chunk", bare_head() + chunk(std::string(8184, 'x')) + end_response()},
      {"a request without body", request(2, 3, fields), 0},
      {"a request with a length", request(4, 4, fields + length) + body_packet("hello") + body_packet("world"), 1},
      {"a request of unknown length", request(4, 3, fields) + body_packet("abc") + "\x12\x34\x00\x00"s, 2},
      {"a ping and two requests", "\x12\x34\x00\x01\x0a"s + request(2, 3, fields) + request(3, 3, fields), 0},
  };
}

// The same with a fault at the end: the error must not depend on the cut either.
std::vector<Case> faults() {
  return {
      {"magic", bare_head() + "XB\x00\x02\x05\x01"s},
      {"length", bare_head() + "AB\xff\xff\x05"s},
      {"chunk length", bare_head() + Bytes().u8(3).u16(9).raw("abc").to_gateway()},
      {"chunk pad", bare_head() + Bytes().u8(3).u16(2).raw("abc").to_gateway()},
      {"late byte", bare_head() + end_response() + end_response()},
      {"header", Bytes().u8(4).u16(200).str("").u16(1).str("a b").str("v").to_gateway()},
      {"type of request", Bytes().u8(7).to_container(), 0},
      {"attribute", Bytes().u8(2).u8(2).raw("junk").to_container(), 0},
  };
}

TEST(DecoderContract, SameEventsWholeAndByteByByte) {
  for (const auto& list : {cases(), faults()}) {
    for (const auto& c : list) {
      const std::string_view input = c.input;
      std::vector<std::string_view> bytes;
      for (std::size_t i = 0; i < input.size(); ++i) bytes.push_back(input.substr(i, 1));
      expect_same(run(c, {input}), run(c, bytes), c.name);
    }
  }
}

TEST(DecoderContract, SameEventsAtEverySplit) {
  for (const auto& list : {cases(), faults()}) {
    for (const auto& c : list) {
      const std::string_view input = c.input;
      const auto whole = run(c, {input});
      for (std::size_t i = 1; i < input.size(); ++i) {
        expect_same(whole, run(c, {input.substr(0, i), input.substr(i)}), c.name + (" cut at " + std::to_string(i)));
      }
    }
  }
}

TEST(DecoderContract, SameEventsInThreePieces) {
  for (const auto& c : cases()) {
    const std::string_view input = c.input;
    if (input.size() > 300) continue;
    const auto whole = run(c, {input});
    for (std::size_t i = 1; i < input.size(); ++i) {
      for (std::size_t j = i + 1; j < input.size(); ++j) {
        const auto seen = run(c, {input.substr(0, i), input.substr(i, j - i), input.substr(j)});
        expect_same(whole, seen, c.name + (" cut at " + std::to_string(i) + " and " + std::to_string(j)));
      }
    }
  }
}

TEST(DecoderContract, GoodInputEndsDone) {
  for (const auto& c : cases()) {
    const auto seen = run(c, {c.input});
    EXPECT_EQ(seen.error, "") << c.name;
    EXPECT_TRUE(seen.done) << c.name;
  }
  for (const auto& c : faults()) EXPECT_NE(run(c, {c.input}).error, "") << c.name;
}

TEST(DecoderContract, ATruncatedResponseIsNeverDone) {
  const auto all = cases();
  for (const auto& c : {all[0], all[3]}) {
    const std::string_view input = c.input;
    for (std::size_t i = 0; i < input.size(); ++i) {
      ResponseDecoder decoder(kMinPacket, {});
      const auto seen = run_response(decoder, {input.substr(0, i)});
      ASSERT_EQ(seen.error, "") << c.name << " at " << i;
      ASSERT_FALSE(seen.done) << c.name << " at " << i;
      ASSERT_EQ(decoder.finish().error(), wire::DecodeError::truncated);
    }
  }
}

TEST(DecoderContract, ATruncatedRequestIsNeverDone) {
  const auto all = cases();
  const auto& c = all[5];
  const std::string_view input = c.input;
  for (std::size_t i = 1; i < input.size(); ++i) {
    const auto seen = run(c, {input.substr(0, i)});
    ASSERT_EQ(seen.error, "") << i;
    ASSERT_FALSE(seen.done) << i;
  }
}

TEST(DecoderContract, APacketLongerThanTheLimitIsRefusedAtItsLength) {
  for (const std::size_t payload : {8189u, 10000u, 65535u}) {
    Bytes in, out;
    in.raw("AB").u16(static_cast<unsigned>(payload));
    out.raw("\x12\x34").u16(static_cast<unsigned>(payload));
    EXPECT_EQ(run_response(in.payload()).error, "packet_too_long");
    EXPECT_EQ(run_request(out.payload()).error, "packet_too_long");
  }
}

TEST(DecoderContract, GarbageIsRefusedOrAsksForMore) {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string input(random() % 200, '\0');
    for (auto& byte : input) byte = static_cast<char>(random());
    // Half of the rounds pass the magic, so that the insides are reached.
    const bool is_response = random() % 2 == 0;
    if (input.size() > 4 && random() % 2 == 0) {
      input.replace(0, 4, is_response ? "AB\x00\x20"s : "\x12\x34\x00\x20"s);
      input[4] = static_cast<char>(random() % 11);
    }
    const Case c{"garbage", input, is_response ? -1 : static_cast<int>(random() % 3)};
    run(c, {input});
  }
}

TEST(DecoderContract, ADamagedByteNeverReadsOutsideOrChangesWithTheCut) {
  std::mt19937 random(11);
  for (const auto& c : cases()) {
    if (c.input.size() > 1000) continue;
    for (std::size_t i = 0; i < c.input.size(); ++i) {
      Case damaged = c;
      damaged.input[i] = static_cast<char>(random());
      const std::string_view input = damaged.input;
      const auto whole = run(damaged, {input});
      const auto cut = 1 + random() % (input.size() - 1);
      const auto parts = run(damaged, {input.substr(0, cut), input.substr(cut)});
      expect_same(whole, parts, c.name + (" damaged at " + std::to_string(i)));
    }
  }
}

}  // namespace
}  // namespace pontage::ajp13::testing
