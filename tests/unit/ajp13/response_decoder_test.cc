#include "protocols/ajp13/response_decoder.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/ajp13/samples.h"

namespace pontage::ajp13::testing {
namespace {

using message::Method;

std::string head_with(std::string_view name, std::string_view value) {
  return Bytes().u8(4).u16(200).str("OK").u16(1).str(name).str(value).to_gateway();
}
std::string error_of(const std::string& input) {
  return run_response(input).error;
}

TEST(ResponseDecoder, T1TakesUndertowsBadRequest) {
  const auto seen = run_response("\x41\x42\x00\x08\x04\x01\x90\x00\x00\x00\x00\x00\x41\x42\x00\x02\x05\x00"sv);
  EXPECT_EQ(seen.events, "head end-");
  EXPECT_EQ(seen.head, "400 until_close");
  EXPECT_TRUE(seen.done);
}

TEST(ResponseDecoder, A21TakesRequestsForBodyBeforeAfterAndBetween) {
  const auto seen = run_response(get_body_chunk(8186) + get_body_chunk(1) + bare_head() + get_body_chunk(2) +
                                 chunk("ab") + get_body_chunk(3) + chunk("c") + end_response());
  EXPECT_EQ(seen.events, "get(8186) get(1) head get(2) body(2) get(3) body(1) end+");
  EXPECT_EQ(seen.body, "abc");
  EXPECT_TRUE(seen.done);
}

TEST(ResponseDecoder, A21RefusesEveryOtherOrder) {
  const std::string cpong = Bytes().u8(9).to_gateway();
  EXPECT_EQ(error_of(bare_head() + bare_head()), "unexpected_message");
  EXPECT_EQ(error_of(chunk("a")), "unexpected_message");
  EXPECT_EQ(error_of(end_response()), "unexpected_message");
  EXPECT_EQ(error_of(cpong), "unexpected_message");
  EXPECT_EQ(error_of(bare_head() + cpong), "unexpected_message");
  const auto whole = bare_head() + end_response();
  for (const auto& late : {bare_head(), chunk("a"), end_response(), cpong, get_body_chunk(1)}) {
    EXPECT_EQ(error_of(whole + late), "unexpected_message");
  }
  for (const unsigned type : {0u, 1u, 2u, 7u, 8u, 10u, 255u}) {
    EXPECT_EQ(error_of(Bytes().u8(type).to_gateway()), "unknown_code") << type;
  }
}

TEST(ResponseDecoder, A1RefusesAnotherMagic) {
  EXPECT_EQ(error_of("HTTP/1.1 400 Bad Request\r\n"), "bad_magic");
  EXPECT_EQ(error_of(Bytes().u8(5).u8(1).to_container()), "bad_magic");
}

TEST(ResponseDecoder, A1RefusesALengthAboveThePacketBeforeReadingIt) {
  EXPECT_EQ(run_response("AB\x1f\xfd"sv).error, "packet_too_long");
  EXPECT_EQ(run_response("AB\x1f\xfc"sv).error, "");
  EXPECT_EQ(run_response("AB\xff\xff"sv, Method::get, kMaxPacket).error, "packet_too_long");
  EXPECT_EQ(run_response("AB\xff\xfc"sv, Method::get, kMaxPacket).error, "");
  EXPECT_EQ(run_response("AB\x00\x00"sv).error, "bad_length");
}

TEST(ResponseDecoder, A3TakesNoneAndEmptyForAnyString) {
  for (const bool none : {true, false}) {
    Bytes b;
    b.u8(4).u16(200);
    none ? b.null() : b.str("");
    b.u16(2).u16(0xA001);
    none ? b.null() : b.str("");
    b.str("X-A");
    none ? b.null() : b.str("");
    EXPECT_EQ(run_response(b.to_gateway()).head, "200 until_close|Content-Type=|X-A=");
  }
}

TEST(ResponseDecoder, A3RefusesAStringWithoutItsNul) {
  EXPECT_EQ(error_of(Bytes().u8(4).u16(200).u16(2).raw("OKx").u16(0).to_gateway()), "bad_string");
  EXPECT_EQ(error_of(Bytes().u8(4).u16(200).u16(2).raw("OK").to_gateway()), "bad_string");
  EXPECT_EQ(error_of(Bytes().u8(4).u16(200).str("").u16(1).u16(0xA001).u16(4).raw("text").to_gateway()), "bad_string");
  EXPECT_EQ(error_of(Bytes().u8(4).u16(200).str("").u16(1).u16(0xA001).u16(0xfffe).raw("a").to_gateway()),
            "bad_string");
}

TEST(ResponseDecoder, A7ReadsCodesAndNamesInAnyCase) {
  Bytes b;
  b.u8(4).u16(302).str("302").u16(5).u16(0xA006).str("/x").str("cOnTent-tYpe").str("text/html").u16(0xA007).str("a=1");
  b.u16(0xA007).str("b=2").str("X-Own").str(" padded\t");
  EXPECT_EQ(run_response(b.to_gateway()).head,
            "302 until_close|Location=/x|cOnTent-tYpe=text/html|Set-Cookie=a=1|Set-Cookie=b=2|X-Own=padded");
}

TEST(ResponseDecoder, A7DropsStatusConnectionAndTransferEncoding) {
  Bytes b;
  b.u8(4)
      .u16(200)
      .str("")
      .u16(6)
      .u16(0xA00A)
      .str("200")
      .str("connection")
      .str("close")
      .str("Transfer-Encoding")
      .str("chunked");
  b.str("status").str("500").u16(0xA009).str("Servlet/6").u16(0xA003).str("3");
  EXPECT_EQ(run_response(b.to_gateway()).head, "200 exact 3|Servlet-Engine=Servlet/6|Content-Length=3");
}

TEST(ResponseDecoder, A7RefusesUnknownCodes) {
  for (const unsigned code : {0xA000u, 0xA00Cu, 0xA0FFu, 0xB001u, 0xFFFFu}) {
    EXPECT_EQ(error_of(Bytes().u8(4).u16(200).str("").u16(1).u16(code).str("v").to_gateway()), "unknown_code") << code;
  }
}

TEST(ResponseDecoder, A22TakesStatus200To999Only) {
  for (const unsigned status : {0u, 99u, 100u, 101u, 199u, 1000u, 65535u}) {
    EXPECT_EQ(error_of(bare_head(status)), "malformed_status_line") << status;
  }
  EXPECT_EQ(run_response(bare_head(200)).events, "head");
  EXPECT_EQ(run_response(bare_head(999)).events, "head");
}

TEST(ResponseDecoder, A22TheReasonCannotSplitTheResponse) {
  message::Arena arena;
  message::ResponseHead head;
  ResponseDecoder decoder(kMinPacket, {});
  const auto bad = Bytes().u8(4).u16(200).str("OK\r\nX: y").u16(0).to_gateway();
  ASSERT_TRUE(decoder.decode(bad, arena, Method::get, head));
  EXPECT_EQ(head.reason, "");
}

TEST(ResponseDecoder, A23TakesChunksWithAndWithoutNul) {
  const auto without = Bytes().u8(3).u16(2).raw("ab").to_gateway();
  const auto seen = run_response(bare_head() + without + chunk("cd") + without + end_response());
  EXPECT_EQ(seen.body, "abcdab");
  EXPECT_TRUE(seen.done);
}

TEST(ResponseDecoder, A23RefusesAChunkWhoseLengthsDisagree) {
  for (const unsigned length : {0u, 1u, 2u, 5u, 6u, 100u, 0xffffu}) {
    EXPECT_EQ(error_of(bare_head() + Bytes().u8(3).u16(length).raw("abcd").to_gateway()), "bad_length") << length;
  }
  EXPECT_EQ(error_of(bare_head() + Bytes().u8(3).to_gateway()), "bad_length");
  EXPECT_EQ(error_of(bare_head() + Bytes().u8(3).u8(0).to_gateway()), "bad_length");
  EXPECT_EQ(error_of(bare_head() + Bytes().u8(3).u16(1).raw("ab").to_gateway()), "bad_string");
}

TEST(ResponseDecoder, A23AnEmptyChunkFlushesAfterTheHeadAndIsIgnoredElsewhere) {
  for (const auto& flush : {Bytes().u8(3).u16(0).to_gateway(), Bytes().u8(3).u16(0).u8(0).to_gateway()}) {
    const auto seen = run_response(flush + bare_head() + flush + chunk("a") + flush + end_response() + flush);
    EXPECT_EQ(seen.events, "head flush body(1) flush end+");
    EXPECT_TRUE(seen.done);
  }
  EXPECT_EQ(error_of(Bytes().u8(3).u16(0).u8(7).to_gateway()), "bad_string");
}

TEST(ResponseDecoder, A24FailsClosedWhenTomcatSkippedAValue) {
  // Three fields are announced, the second one's value did not fit and was left out.
  Bytes b;
  b.u8(4).u16(200).str("200").u16(3).u16(0xA001).str("text/html").u16(0xA007).u16(0xA003).str("12");
  EXPECT_EQ(error_of(b.to_gateway()), "bad_string");
  // The same with the last field: the packet ends where a value should be.
  EXPECT_EQ(error_of(Bytes().u8(4).u16(200).str("200").u16(1).u16(0xA007).to_gateway()), "bad_string");
}

TEST(ResponseDecoder, A24RefusesWhatIsLeftBehindTheFields) {
  EXPECT_EQ(error_of(Bytes().u8(4).u16(200).str("").u16(0).u8(0).to_gateway()), "bad_length");
  EXPECT_EQ(error_of(Bytes().u8(4).u16(200).str("").u16(1).to_gateway()), "bad_string");
  EXPECT_EQ(error_of(Bytes().u8(4).u8(0).to_gateway()), "bad_length");
}

TEST(ResponseDecoder, A25OnlyAPlainOneKeepsTheConnection) {
  EXPECT_EQ(run_response(bare_head() + end_response(1)).events, "head end+");
  EXPECT_EQ(run_response(bare_head() + end_response(0)).events, "head end-");
  EXPECT_EQ(run_response(bare_head() + end_response(2)).events, "head end-");
  EXPECT_EQ(run_response(bare_head() + Bytes().u8(5).to_gateway()).events, "head end-");
  EXPECT_EQ(error_of(bare_head() + Bytes().u8(5).u8(1).u8(0).to_gateway()), "bad_length");
}

TEST(ResponseDecoder, A17RefusesARequestForBodyOfAnotherLength) {
  EXPECT_EQ(error_of(Bytes().u8(6).to_gateway()), "bad_length");
  EXPECT_EQ(error_of(Bytes().u8(6).u8(1).to_gateway()), "bad_length");
  EXPECT_EQ(error_of(Bytes().u8(6).u16(1).u8(0).to_gateway()), "bad_length");
}

TEST(ResponseDecoder, A28TakesAPongOnlyWhenAsked) {
  ResponseDecoder decoder(kMinPacket, {});
  decoder.expect_cpong();
  const auto pong = "\x41\x42\x00\x01\x09"sv;
  EXPECT_EQ(run_response(decoder, {pong}).events, "cpong");
  EXPECT_TRUE(decoder.done());
  EXPECT_EQ(run_response(decoder, {pong}).error, "unexpected_message");
  for (const auto& other : {bare_head(), end_response(), get_body_chunk(1), chunk(""), chunk("a")}) {
    ResponseDecoder strict(kMinPacket, {});
    strict.expect_cpong();
    EXPECT_EQ(run_response(strict, {other}).error, "unexpected_message");
  }
}

TEST(ResponseDecoder, X8RefusesNamesThatAreNoTokens) {
  for (const auto name : {""sv, "a b"sv, "a:"sv, "a\r\nb"sv, "\xc3\xa4"sv, "a\0b"sv}) {
    EXPECT_EQ(error_of(head_with(name, "v")), "malformed_header") << name;
  }
}

TEST(ResponseDecoder, X8RefusesValuesWithControls) {
  for (const auto value : {"a\rb"sv, "a\nb"sv, "a\r\n b"sv, "a\0b"sv, "\x01"sv, "\x7f"sv}) {
    EXPECT_EQ(error_of(head_with("X-A", value)), "malformed_header") << value;
    EXPECT_EQ(error_of(head_with("Transfer-Encoding", value)), "malformed_header") << value;
  }
  EXPECT_EQ(run_response(head_with("X-A", "a\tb \xc3\xa4")).error, "");
}

TEST(ResponseDecoder, X9RefusesABadContentLength) {
  for (const auto value : {"", "-1", "+1", "1,1", "0x1", "9223372036854775808", "12 "}) {
    const bool padded = std::string_view(value) == "12 ";  // space around a value is not part of it
    EXPECT_EQ(error_of(head_with("Content-Length", value)), padded ? "" : "bad_content_length") << value;
  }
  Bytes twice;
  twice.u8(4).u16(200).str("").u16(2).u16(0xA003).str("5").str("content-length").str("5");
  EXPECT_EQ(error_of(twice.to_gateway()), "bad_content_length");
}

TEST(ResponseDecoder, X11HeadKeepsItsContentLengthAndHasNoBody) {
  EXPECT_EQ(run_response(head_with("Content-Length", "5"), Method::head).head, "200 none|Content-Length=5");
  EXPECT_EQ(run_response(head_with("Content-Length", "5")).head, "200 exact 5|Content-Length=5");
  EXPECT_EQ(run_response(head_with("Content-Length", "0")).head, "200 exact 0|Content-Length=0");
  EXPECT_EQ(run_response(bare_head(204)).head, "204 none");
  EXPECT_EQ(run_response(bare_head(304)).head, "304 none");
}

TEST(ResponseDecoder, LimitsNameThemselves) {
  const wire::HeadLimits limits{.request_line = 10, .header = 20, .headers = 50, .header_count = 4};
  const auto decode = [&](int count, std::string_view value) {
    Bytes b;
    b.u8(4).u16(200).str("").u16(static_cast<unsigned>(count));
    for (int i = 0; i < count; ++i) b.str("X-A").str(value);
    ResponseDecoder decoder(kMinPacket, limits);
    return run_response(decoder, {b.to_gateway()}).error;
  };
  EXPECT_EQ(decode(4, "1"), "");
  EXPECT_EQ(decode(5, "1"), "too_many_headers");
  EXPECT_EQ(decode(1, "123456789012345"), "");
  EXPECT_EQ(decode(1, "1234567890123456"), "header_too_long");
  EXPECT_EQ(decode(3, "123456789012345"), "headers_too_long");
}

TEST(ResponseDecoder, StreamsAChunkThatIsCutWithoutKeepingIt) {
  ResponseDecoder decoder(kMinPacket, {});
  message::Arena arena;
  message::ResponseHead head;
  ASSERT_TRUE(decoder.decode(bare_head(), arena, Method::get, head));
  const auto packet = chunk(std::string(1000, 'a'));
  const auto first = decoder.decode(std::string_view(packet).substr(0, 100), arena, Method::get, head);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->event, ResponseEvent::body);
  EXPECT_EQ(first->consumed, 100u);
  EXPECT_EQ(first->data.data(), packet.data() + 7);
  EXPECT_EQ(first->data.size(), 93u);
}

TEST(ResponseDecoder, StaysFailed) {
  ResponseDecoder decoder(kMinPacket, {});
  EXPECT_EQ(run_response(decoder, {"XX\x00\x01"sv}).error, "bad_magic");
  EXPECT_EQ(run_response(decoder, {bare_head()}).error, "bad_magic");
  EXPECT_FALSE(decoder.done());
  EXPECT_EQ(decoder.finish().error(), wire::DecodeError::bad_magic);
}

TEST(ResponseDecoder, ServesOneResponseAfterAnother) {
  ResponseDecoder decoder(kMinPacket, {});
  for (int i = 0; i < 3; ++i) {
    const auto seen = run_response(decoder, {bare_head() + chunk("x") + end_response()});
    EXPECT_EQ(seen.events, "head body(1) end+");
    decoder.reset();
    EXPECT_FALSE(decoder.done());
  }
}

}  // namespace
}  // namespace pontage::ajp13::testing
