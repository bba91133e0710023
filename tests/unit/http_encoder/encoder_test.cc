// What the encoders promise, each proved by the library's own decoder.
#include "src/http/encoder.h"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/http_encoder/decode.h"

namespace pontage::http {
namespace {

using message::ContentCoding;
using Operation = ContentEncoder::Operation;
using testing::decode;
using testing::random_bytes;
using testing::words;

constexpr ContentCoding kCodings[] = {ContentCoding::gzip, ContentCoding::br, ContentCoding::zstd};

config::Compression at_level(int level) {
  config::Compression levels;
  levels.gzip_level = levels.brotli_quality = levels.zstd_level = level;
  return levels;
}

struct Range {
  int least, most;
};
Range levels_of(ContentCoding coding) {
  if (coding == ContentCoding::gzip) return {1, 9};
  return coding == ContentCoding::br ? Range{0, 11} : Range{1, 19};
}
// The slow levels see less.
std::size_t large(ContentCoding coding, int level) {
  const bool slow = (coding == ContentCoding::br && level > 4) || (coding == ContentCoding::zstd && level > 6);
  return slow ? 600'000 : 5 << 20;
}

// Runs one operation to its end, with that much room a step; notes the most memory held.
class Stream {
 public:
  explicit Stream(ContentCoding coding, const config::Compression& levels = {}, std::size_t room = 16384)
      : encoder_(ContentEncoder::make(coding, levels)), room_(room, '\0') {}

  Stream& put(std::string_view input, Operation operation) {
    for (int idle = 0; idle < 3;) {
      const auto step = encoder_->step(input, room_, operation);
      EXPECT_LE(step.consumed, input.size());
      EXPECT_LE(step.produced, room_.size());
      EXPECT_FALSE(step.failed);
      if (step.failed) return *this;
      bytes.append(room_.data(), step.produced);
      input.remove_prefix(step.consumed);
      most_memory = std::max(most_memory, encoder_->memory());
      if (step.done) {
        EXPECT_TRUE(input.empty());
        return *this;
      }
      idle = step.consumed + step.produced == 0 ? idle + 1 : 0;
    }
    ADD_FAILURE() << "no progress";
    return *this;
  }
  // As a body comes from a socket.
  Stream& put_in_pieces(std::string_view input, std::size_t size, Operation last) {
    for (; input.size() > size; input.remove_prefix(size)) put(input.substr(0, size), Operation::more);
    return put(input, last);
  }
  ContentEncoder& encoder() { return *encoder_; }

  std::string bytes;
  std::size_t most_memory = 0;

 private:
  EncoderPtr encoder_;
  std::string room_;
};

class EncoderTest : public ::testing::TestWithParam<ContentCoding> {};
INSTANTIATE_TEST_SUITE_P(Codings, EncoderTest, ::testing::ValuesIn(kCodings),
                         [](const auto& tested) { return std::string(message::to_string(tested.param)); });

TEST_P(EncoderTest, GivesBackEverySizeOfTextAndOfNoise) {
  for (const std::size_t size : {0, 1, 1023, 65535, 65536, 65537, 5 << 20}) {
    for (const std::string& input : {words(size), random_bytes(size)}) {
      Stream stream(GetParam());
      stream.put_in_pieces(input, 16384, Operation::finish);
      const auto decoded = decode(GetParam(), stream.bytes);
      EXPECT_TRUE(decoded.ended) << size;
      EXPECT_TRUE(decoded.text == input) << size;
    }
    if (size >= 65535) {
      Stream text(GetParam());
      EXPECT_LT(text.put(words(size), Operation::finish).bytes.size(), size / 2);
    }
  }
}

TEST_P(EncoderTest, KeepsItsMemoryBoundAtEveryLevel) {
  const Range range = levels_of(GetParam());
  for (int level = range.least; level <= range.most; ++level) {
    const std::size_t size = large(GetParam(), level);
    const std::size_t bound = most_encoder_memory(GetParam(), level);
    for (const std::string& input : {words(size), random_bytes(size)}) {
      Stream stream(GetParam(), at_level(level));
      stream.put_in_pieces(input, 65536, Operation::finish);
      const auto decoded = decode(GetParam(), stream.bytes);
      EXPECT_TRUE(decoded.ended && decoded.text == input) << level;
      EXPECT_LE(stream.most_memory, bound) << level;
      EXPECT_GT(stream.most_memory, bound / 5) << "a bound that says nothing, at level " << level;
    }
  }
}

TEST_P(EncoderTest, TakesInputByteByByteAndGivesOutputInTheLeastRoom) {
  const std::string input = words(3000) + random_bytes(3000) + std::string(3000, 'a');
  Stream stream(GetParam(), {}, ContentEncoder::kLeastRoom);
  stream.put_in_pieces(input, 1, Operation::finish);
  const auto decoded = decode(GetParam(), stream.bytes);
  EXPECT_TRUE(decoded.ended);
  EXPECT_EQ(decoded.text, input);
}

TEST_P(EncoderTest, FlushMakesEverythingSoFarDecodable) {
  for (const std::size_t room : {ContentEncoder::kLeastRoom, std::size_t{100}, std::size_t{16384}}) {
    Stream stream(GetParam(), {}, room);
    std::string sent;
    for (const std::string& piece : {words(10), words(1), random_bytes(40'000), words(200'000), std::string("end")}) {
      stream.put(piece, Operation::flush);
      sent += piece;
      const auto decoded = decode(GetParam(), stream.bytes);
      EXPECT_EQ(decoded.text.size(), sent.size());
      EXPECT_TRUE(decoded.text == sent);
      EXPECT_FALSE(decoded.ended || decoded.broken);
    }
    // Also for what was put before without a flush, and twice in a row, and with nothing behind it.
    stream.put("kept", Operation::more).put("", Operation::flush);
    EXPECT_TRUE(decode(GetParam(), stream.bytes).text == sent + "kept");
    stream.put("", Operation::flush).put("", Operation::finish);
    const auto decoded = decode(GetParam(), stream.bytes);
    EXPECT_TRUE(decoded.ended);
    EXPECT_TRUE(decoded.text == sent + "kept");
  }
}

TEST_P(EncoderTest, AFlushOfEveryLengthEnds) {
  const std::string noise = random_bytes(400);
  for (std::size_t size = 0; size < noise.size(); ++size) {
    Stream stream(GetParam(), {}, 64);
    stream.put(std::string_view(noise).substr(0, size), Operation::flush).put("x", Operation::finish);
    EXPECT_EQ(decode(GetParam(), stream.bytes).text, noise.substr(0, size) + "x");
  }
}

TEST_P(EncoderTest, IsUsedAgainWithItsMemoryAndWithoutItsPast) {
  const std::string input = words(300'000);
  ContentEncoder* first = nullptr;
  std::string fresh;
  {
    Stream stream(GetParam());
    first = &stream.encoder();
    fresh = stream.put_in_pieces(input, 8192, Operation::finish).bytes;
  }
  {
    Stream abandoned(GetParam());
    EXPECT_EQ(&abandoned.encoder(), first);
    abandoned.put(random_bytes(100'000), Operation::more);
  }
  Stream again(GetParam());
  EXPECT_EQ(&again.encoder(), first);
  EXPECT_GT(again.encoder().memory(), 200'000U);
  EXPECT_EQ(again.put_in_pieces(input, 8192, Operation::finish).bytes, fresh);
  Stream beside(GetParam());
  EXPECT_NE(&beside.encoder(), first);
}

TEST_P(EncoderTest, IsUsedAgainAtAnotherLevel) {
  const std::string input = words(200'000);
  const Range range = levels_of(GetParam());
  std::vector<std::string> fresh;
  for (const int level : {range.least, 6, range.least, 6}) {
    std::thread([&] {
      fresh.push_back(Stream(GetParam(), at_level(level)).put(input, Operation::finish).bytes);
    }).join();
    const auto used = Stream(GetParam(), at_level(level)).put(input, Operation::finish).bytes;
    EXPECT_EQ(decode(GetParam(), used).text, input);
    EXPECT_NEAR(static_cast<double>(used.size()), static_cast<double>(fresh.back().size()), input.size() * 0.002)
        << level;
  }
  EXPECT_GT(fresh[0].size(), fresh[1].size());
}

TEST_P(EncoderTest, KeepsTheLowerBoundAfterAHigherLevel) {
  const Range range = levels_of(GetParam());
  for (const int level : {range.most, 5, range.least}) {
    Stream stream(GetParam(), at_level(level));
    stream.put_in_pieces(words(300'000), 65536, Operation::finish);
    EXPECT_LE(stream.most_memory, most_encoder_memory(GetParam(), level)) << level;
  }
}

TEST_P(EncoderTest, ManyAtOnceAreIndependent) {
  std::vector<Stream> streams;
  for (int i = 0; i < 10; ++i) streams.emplace_back(GetParam());
  const std::string input = words(30'000);
  for (std::size_t at = 0; at < input.size(); at += 1000) {
    for (auto& stream : streams) stream.put(std::string_view(input).substr(at, 1000), Operation::more);
  }
  for (auto& stream : streams) {
    stream.put("", Operation::finish);
    EXPECT_EQ(decode(GetParam(), stream.bytes).text, input);
  }
}

TEST_P(EncoderTest, CompressesAWholeBodyWithinALimit) {
  const std::string input = words(100'000);
  std::string output = "left over";
  ASSERT_TRUE(compress_whole(GetParam(), {}, input, output, input.size()));
  EXPECT_TRUE(decode(GetParam(), output).ended);
  EXPECT_EQ(decode(GetParam(), output).text, input);
  const std::size_t size = output.size();
  EXPECT_TRUE(compress_whole(GetParam(), {}, input, output, size));
  EXPECT_FALSE(compress_whole(GetParam(), {}, input, output, size - 1));
  EXPECT_EQ(output, "");
  EXPECT_FALSE(compress_whole(GetParam(), {}, random_bytes(50'000), output, 49'999)) << "noise does not shrink";
  EXPECT_FALSE(compress_whole(GetParam(), {}, "x", output, 0));
  EXPECT_TRUE(compress_whole(GetParam(), {}, "", output, 64));
  EXPECT_TRUE(decode(GetParam(), output).ended);
}

TEST(Encoders, AreMadeForCodingsOnly) {
  EXPECT_EQ(ContentEncoder::make(ContentCoding::identity, {}), nullptr);
  std::string output;
  EXPECT_FALSE(compress_whole(ContentCoding::identity, {}, "x", output, 100));
  for (const auto coding : kCodings) {
    const EncoderPtr encoder = ContentEncoder::make(coding, {});
    ASSERT_NE(encoder, nullptr);
    EXPECT_EQ(encoder->coding(), coding);
  }
}

TEST(Encoders, LevelsOutsideOfTheirRangeAreBroughtIntoIt) {
  EXPECT_EQ(encoder_level(ContentCoding::gzip, at_level(0)), 1);
  EXPECT_EQ(encoder_level(ContentCoding::gzip, at_level(99)), 9);
  EXPECT_EQ(encoder_level(ContentCoding::br, at_level(-1)), 0);
  EXPECT_EQ(encoder_level(ContentCoding::br, at_level(99)), 11);
  EXPECT_EQ(encoder_level(ContentCoding::zstd, at_level(-5)), 1);
  EXPECT_EQ(encoder_level(ContentCoding::zstd, at_level(22)), 19);
}

}  // namespace
}  // namespace pontage::http
