#include <string>

#include <gtest/gtest.h>

#include "protocols/http1/decoder.h"

namespace pontage::http1 {
namespace {

using message::BodyFraming;
using message::BodyKind;
using wire::DecodeError;

class Bodies : public testing::Test {
 protected:
  void start(BodyFraming framing, const wire::HeadLimits& limits = {}) { decoder_.start(framing, limits, arena_); }

  // Decodes `text` as far as it goes: the data, then " end" or the error's name; what is left over in `left_`.
  std::string decode(std::string_view text) {
    std::string out;
    left_ = text;
    for (;;) {
      const auto step = decoder_.decode(left_);
      if (!step) return out + " " + std::string(to_string(step.error()));
      left_.remove_prefix(step->consumed);
      if (step->event == BodyEvent::end) return out + " end";
      if (step->event == BodyEvent::need_more) return out;
      out += step->data;
    }
  }
  std::string chunked(std::string_view text, const wire::HeadLimits& limits = {}) {
    start({BodyKind::chunked, 0}, limits);
    return decode(text);
  }

  message::Arena arena_;
  BodyDecoder decoder_;
  std::string_view left_;
};

TEST_F(Bodies, NoneAndEmptyOnesAreDoneAtOnce) {
  for (const auto framing : {BodyFraming{BodyKind::none, 0}, BodyFraming{BodyKind::exact, 0}}) {
    start(framing);
    EXPECT_TRUE(decoder_.done());
    EXPECT_EQ(decode("GET"), " end");
    EXPECT_EQ(left_, "GET");
    EXPECT_TRUE(decoder_.finish());
  }
}

TEST_F(Bodies, ExactOnesTakeTheirLengthAndNoMore) {
  start({BodyKind::exact, 5});
  EXPECT_EQ(decode("abc"), "abc");
  EXPECT_EQ(decoder_.remaining(), 2U);
  EXPECT_FALSE(decoder_.done());
  EXPECT_EQ(decode("deGET"), "de end");
  EXPECT_EQ(left_, "GET");
  EXPECT_TRUE(decoder_.done());
}

TEST_F(Bodies, CutShortAreTruncated) {
  start({BodyKind::exact, 5});
  decode("abc");
  EXPECT_EQ(decoder_.finish().error(), DecodeError::truncated);
  EXPECT_EQ(decode("de"), " truncated");
  for (const auto* text :
       {"", "5", "5\r\n", "5\r\nab", "5\r\nabcde", "5\r\nabcde\r\n", "0\r\n", "0\r\n\r", "0\r\nX: 1\r\n"}) {
    chunked(text);
    EXPECT_EQ(decoder_.finish().error(), DecodeError::truncated) << text;
  }
}

TEST_F(Bodies, UntilCloseEndWithTheStream) {
  start({BodyKind::until_close, 0});
  EXPECT_EQ(decode("0\r\n\r\n"), "0\r\n\r\n");
  EXPECT_FALSE(decoder_.done());
  EXPECT_TRUE(decoder_.finish());
  EXPECT_TRUE(decoder_.done());
}

TEST_F(Bodies, ChunksJoinAndEndWhereTheyEnd) {
  EXPECT_EQ(chunked("5\r\nabcde\r\n00a\r\n0123456789\r\n0\r\n\r\nGET"), "abcde0123456789 end");
  EXPECT_EQ(left_, "GET");
  EXPECT_EQ(chunked("000\r\n\r\n"), " end");
  EXPECT_EQ(chunked("A;x\r\n0123456789\r\n0;y=\"z\"\r\n\r\n"), "0123456789 end");
  EXPECT_EQ(chunked("1 \t;x\r\na\r\n0\r\n\r\n"), "a end");
}

TEST_F(Bodies, GiveTheLargestPieceThereIs) {
  start({BodyKind::chunked, 0});
  const std::string text = "10\r\n0123456789abcdef\r\n";
  const auto step = decoder_.decode(text);
  EXPECT_EQ(step->data, "0123456789abcdef");
  EXPECT_EQ(step->data.data(), text.data() + 4);
}

TEST_F(Bodies, RefuseChunkSizesThatOthersReadDifferently) {
  for (const auto* text : {"1\nZ\r\n0\r\n\r\n",
                           "g\r\n",
                           "\r\n",
                           "-1\r\n",
                           "+1\r\n",
                           "0x1\r\n",
                           " 1\r\n",
                           "1 \r\n",
                           "1 2\r\n",
                           ";x\r\n",
                           "1\rZ",
                           "1\r\r\n",
                           "8000000000000000\r\n",
                           "ffffffffffffffff\r\n",
                           "10000000000000000\r\n",
                           "00000000000000001\r\n",
                           "1;x\ny\r\n",
                           "1;\"\n\"\r\n",
                           "1;x\ry",
                           "1;\x01\r\n",
                           "1_0\r\n"}) {
    EXPECT_EQ(chunked(text), " malformed_chunk") << text;
  }
  EXPECT_EQ(chunked(std::string_view("1\0\r\n", 4)), " malformed_chunk");
  EXPECT_EQ(chunked("7fffffffffffffff\r\nab"), "ab");
}

TEST_F(Bodies, RefuseChunksThatAreLongerThanTheySay) {
  EXPECT_EQ(chunked("1\r\nab\r\n"), "a malformed_chunk");
  EXPECT_EQ(chunked("1\r\na\n0\r\n"), "a malformed_chunk");
  EXPECT_EQ(chunked("1\r\na\r0\r\n"), "a malformed_chunk");
}

TEST_F(Bodies, ExtensionsHaveALimit) {
  EXPECT_EQ(chunked("1;" + std::string(4096, 'x') + "\r\na"), "a");
  EXPECT_EQ(chunked("1;" + std::string(4097, 'x')), " chunk_line_too_long");
  EXPECT_EQ(chunked("1" + std::string(4098, ' ')), " chunk_line_too_long");
  start({BodyKind::chunked, 0});
  std::string out = decode("1;");
  for (int i = 0; i < 5000 && out.empty(); ++i) out = decode("x");
  EXPECT_EQ(out, " chunk_line_too_long");
}

TEST_F(Bodies, KeepTrailersAsFields) {
  EXPECT_EQ(chunked("0\r\nX-T: 1 \r\nExpires:\r\n\r\n"), " end");
  ASSERT_EQ(decoder_.trailers().size(), 2U);
  EXPECT_EQ(decoder_.trailers().begin()->name, "X-T");
  EXPECT_EQ(decoder_.trailers().begin()->value, "1");
  EXPECT_TRUE(decoder_.trailers().has(message::HeaderId::expires));
}

TEST_F(Bodies, RefuseTrailersThatAreNoFields) {
  for (const auto* line : {"X : 1", " X: 1", "X", ": 1", "X: \x01", "X: a\nb", "X: a\rb"}) {
    EXPECT_EQ(chunked("0\r\n" + std::string(line) + "\r\n\r\n"), " malformed_trailer") << line;
  }
  EXPECT_EQ(chunked("0\r\n\n"), " malformed_trailer");
}

TEST_F(Bodies, TrailersHaveTheHeadsLimits) {
  const wire::HeadLimits limits{.request_line = 9, .header = 10, .headers = 20, .header_count = 2};
  EXPECT_EQ(chunked("0\r\nA: 1\r\nB: 2\r\n\r\n", limits), " end");
  EXPECT_EQ(chunked("0\r\nA: 1\r\nB: 2\r\nC", limits), " too_many_headers");
  EXPECT_EQ(chunked("0\r\nA: 12345678", limits), " header_too_long");
  EXPECT_EQ(chunked("0\r\nA: 123456\r\nB: 1234567", limits), " headers_too_long");
}

TEST_F(Bodies, StartAgainFromNothing) {
  chunked("0\r\nX: 1\r\n\r\n");
  chunked("z");
  start({BodyKind::chunked, 0});
  EXPECT_TRUE(decoder_.trailers().empty());
  EXPECT_EQ(decode("1\r\na\r\n0\r\n\r\n"), "a end");
}

}  // namespace
}  // namespace pontage::http1
