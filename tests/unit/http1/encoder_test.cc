#include "protocols/http1/encoder.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "protocols/http1/decoder.h"

namespace pontage::http1 {
namespace {

class Encoder : public testing::Test {
 protected:
  std::string take() {
    std::string out(sink_.view());
    sink_.truncate(0);
    return out;
  }

  std::array<char, 1024> room_{};
  wire::Sink sink_{room_};
};

TEST_F(Encoder, KeepsAnEmptyQueryApartFromNone) {
  encode_request_line(sink_, "GET", "/a", false, "");
  EXPECT_EQ(take(), "GET /a HTTP/1.1\r\n");
  encode_request_line(sink_, "GET", "/a", true, "");
  EXPECT_EQ(take(), "GET /a? HTTP/1.1\r\n");
  encode_request_line(sink_, "QUERY", "*", true, "b");
  EXPECT_EQ(take(), "QUERY *?b HTTP/1.1\r\n");
}

TEST_F(Encoder, WritesItsOwnReasons) {
  encode_status_line(sink_, message::kHttp11, 404);
  EXPECT_EQ(take(), "HTTP/1.1 404 Not Found\r\n");
  encode_status_line(sink_, message::kHttp10, 599);
  EXPECT_EQ(take(), "HTTP/1.0 599 Unknown\r\n");
}

TEST_F(Encoder, WritesTheFramingThatWasDecided) {
  encode_framing(sink_, {message::BodyKind::none, 0});
  encode_framing(sink_, {message::BodyKind::until_close, 0});
  EXPECT_EQ(take(), "");
  encode_framing(sink_, {message::BodyKind::exact, 0});
  EXPECT_EQ(take(), "Content-Length: 0\r\n");
  encode_framing(sink_, {message::BodyKind::chunked, 0});
  EXPECT_EQ(take(), "Transfer-Encoding: chunked\r\n");
}

TEST_F(Encoder, WritesChunksAndTrailers) {
  message::Arena arena;
  message::HeaderList trailers(arena);
  encode_chunk_start(sink_, 0x1a2b);
  EXPECT_EQ(take(), "1a2b\r\n");
  encode_last_chunk(sink_, trailers);
  EXPECT_EQ(take(), "0\r\n\r\n");
  trailers.add("X-T", "1");
  encode_last_chunk(sink_, trailers);
  EXPECT_EQ(take(), "0\r\nX-T: 1\r\n\r\n");
}

TEST_F(Encoder, MakesWhatTheDecoderReads) {
  encode_request_line(sink_, "PUT", "/x", true, "y=1");
  encode_field(sink_, "Host", "a:81");
  encode_framing(sink_, {message::BodyKind::exact, 7});
  encode_end_of_head(sink_);
  message::Arena arena;
  message::RequestHead head;
  RequestDecoder decoder{wire::HeadLimits{}};
  const auto step = decoder.decode(sink_.view(), arena, head);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->consumed, sink_.size());
  EXPECT_EQ(head.method, message::Method::put);
  EXPECT_EQ(head.target.query, "y=1");
  EXPECT_EQ(head.port, 81);
  EXPECT_EQ(head.body.length, 7U);
}

TEST_F(Encoder, SaysWhenTheRoomIsTooSmall) {
  wire::Sink small{std::span<char>(room_.data(), 10)};
  encode_status_line(small, message::kHttp11, 200);
  EXPECT_TRUE(small.overflowed());
}

}  // namespace
}  // namespace pontage::http1
