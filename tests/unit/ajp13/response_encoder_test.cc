#include "protocols/ajp13/response_encoder.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/ajp13/samples.h"

namespace pontage::ajp13::testing {
namespace {

using message::BodyKind;

class ResponseEncoder : public ::testing::Test {
 protected:
  ResponseEncoder() { head.headers = message::HeaderList(arena); }

  message::Arena arena;
  message::ResponseHead head;
  std::string room = std::string(1 << 18, '\0');
  wire::Sink sink{room};
};

TEST_F(ResponseEncoder, A7WritesCodesWhereNamesHaveThem) {
  head.status = 404;
  head.reason = "404";
  head.headers.add("content-type", "text/plain");
  head.headers.add("X-Own", "1");
  head.headers.add("Set-Cookie", "a=1");
  head.headers.add("Set-Cookie", "b=2");
  ASSERT_TRUE(encode_send_headers(sink, head, kMinPacket));
  Bytes b;
  b.u8(4).u16(404).str("404").u16(4).u16(0xA001).str("text/plain").str("X-Own").str("1");
  EXPECT_EQ(sink.view(), b.u16(0xA007).str("a=1").u16(0xA007).str("b=2").to_gateway());
}

TEST_F(ResponseEncoder, TheFramingGivesTheOneContentLength) {
  head.status = 200;
  head.headers.add("Content-Length", "7");
  head.headers.add("Transfer-Encoding", "chunked");
  head.body = {BodyKind::exact, 5};
  ASSERT_TRUE(encode_send_headers(sink, head, kMinPacket));
  EXPECT_EQ(sink.view(), Bytes().u8(4).u16(200).str("").u16(1).u16(0xA003).str("5").to_gateway());
  sink.truncate(0);
  head.body = {};
  ASSERT_TRUE(encode_send_headers(sink, head, kMinPacket));
  EXPECT_EQ(sink.view(), Bytes().u8(4).u16(200).str("").u16(1).u16(0xA003).str("7").to_gateway());
}

TEST_F(ResponseEncoder, RefusesAHeadAboveThePacket) {
  const std::string big(9000, 'x');
  head.status = 200;
  head.headers.add("X-Big", big);
  sink.append("before");
  const auto done = encode_send_headers(sink, head, kMinPacket);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().header, "X-Big");
  EXPECT_EQ(done.error().packet_size_needed, 9216u);
  EXPECT_EQ(sink.view(), "before");
}

TEST_F(ResponseEncoder, A23ChunksEndWithANul) {
  EXPECT_EQ(encode_body_chunk(sink, "abc"), 3u);
  EXPECT_EQ(sink.view(),
            "AB\x00\x07\x03\x00\x03"
            "abc\x00"sv);
  const auto header = body_chunk_header(3);
  EXPECT_EQ(std::string_view(header.data(), header.size()), sink.view().substr(0, 7));
}

TEST_F(ResponseEncoder, A2ChunksTakeWhatFits) {
  const std::string data(100000, 'd');
  EXPECT_EQ(encode_body_chunk(sink, data, kMinPacket), 8184u);
  EXPECT_EQ(sink.size(), kMinPacket);
  EXPECT_EQ(encode_body_chunk(sink, data), 65528u);
  EXPECT_EQ(encode_body_chunk(sink, ""), 0u);
  EXPECT_EQ(sink.size(), kMinPacket + kMaxPacket);
}

TEST_F(ResponseEncoder, ShortMessagesAreTheBytesOfTheProtocol) {
  encode_flush(sink);
  encode_get_body_chunk(sink, 8186);
  encode_end_response(sink, Reuse::yes);
  encode_end_response(sink, Reuse::no);
  encode_cpong(sink);
  EXPECT_EQ(sink.view(),
            "AB\x00\x04\x03\x00\x00\x00"
            "AB\x00\x03\x06\x1f\xfa"
            "AB\x00\x02\x05\x01"
            "AB\x00\x02\x05\x00"
            "AB\x00\x01\x09"sv);
}

}  // namespace
}  // namespace pontage::ajp13::testing
