#include "tests/contract/decoder/decoder_contract.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "protocols/wire/decode_error.h"

namespace pontage::contract {
namespace {

class DecoderContract : public testing::TestWithParam<Subject> {
 protected:
  std::string whole(std::string_view text) const { return GetParam().transcript({text}); }
  std::string bytes(std::string_view text) const {
    std::vector<std::string_view> pieces;
    for (std::size_t i = 0; i < text.size(); ++i) pieces.push_back(text.substr(i, 1));
    return GetParam().transcript(pieces);
  }
  std::string split(std::string_view text, std::size_t at) const {
    return GetParam().transcript({text.substr(0, at), text.substr(at)});
  }
  std::vector<std::string> everything() const {
    auto all = GetParam().complete;
    for (const auto* more : {&GetParam().refused, &GetParam().over_limit})
      all.insert(all.end(), more->begin(), more->end());
    return all;
  }
};

// A small generator of one's own: the same garbage in every run.
class Random {
 public:
  std::uint32_t below(std::size_t n) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>((state_ >> 33) % n);
  }

 private:
  std::uint64_t state_ = 42;
};

bool is_refusal(const std::string& transcript) {
  return transcript.find("error: ") != std::string::npos;
}

bool names_a_limit(const std::string& transcript) {
  for (int i = 0; i <= static_cast<int>(wire::DecodeError::truncated); ++i) {
    const auto error = static_cast<wire::DecodeError>(i);
    if (is_limit(error) && transcript.ends_with("error: " + std::string(to_string(error)))) return true;
  }
  return false;
}

TEST_P(DecoderContract, TakesWholeMessages) {
  for (const auto& text : GetParam().complete) EXPECT_FALSE(is_refusal(whole(text))) << text << whole(text);
}

TEST_P(DecoderContract, ByteByByteMeansTheSame) {
  for (const auto& text : everything()) EXPECT_EQ(bytes(text), whole(text)) << text;
}

TEST_P(DecoderContract, EverySplitMeansTheSame) {
  for (const auto& text : everything()) {
    const auto expected = whole(text);
    // A long stream is cut everywhere near its ends and now and then between.
    for (std::size_t at = 1; at<text.size(); at += at> 400 && at + 400 < text.size() ? 97 : 1) {
      ASSERT_EQ(split(text, at), expected) << text << " cut at " << at;
    }
  }
}

TEST_P(DecoderContract, CutShortIsNeitherWholeNorRefused) {
  for (const auto& text : GetParam().complete) {
    const auto expected = whole(text);
    for (std::size_t size = 0; size < text.size(); ++size) {
      const auto part = whole(std::string_view(text).substr(0, size));
      ASSERT_NE(part, expected) << text << " cut to " << size;
      ASSERT_FALSE(is_refusal(part)) << text << " cut to " << size << part;
    }
  }
}

TEST_P(DecoderContract, RefusesTheMalformed) {
  for (const auto& text : GetParam().refused) {
    EXPECT_TRUE(is_refusal(whole(text))) << text;
    EXPECT_FALSE(names_a_limit(whole(text))) << text;
  }
}

TEST_P(DecoderContract, NamesTheLimitThatWasHit) {
  for (const auto& text : GetParam().over_limit) EXPECT_TRUE(names_a_limit(whole(text))) << text << whole(text);
}

TEST_P(DecoderContract, GarbageMeansTheSameHoweverItArrives) {
  Random random;
  const auto& words = GetParam().words;
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    const auto length = random.below(12);
    for (std::uint32_t i = 0; i < length; ++i) {
      if (random.below(4) == 0) {
        text += static_cast<char>(random.below(256));
      } else {
        text += words[random.below(words.size())];
      }
    }
    const auto expected = whole(text);
    ASSERT_EQ(bytes(text), expected) << text;
    ASSERT_EQ(split(text, random.below(text.size() + 1)), expected) << text;
  }
}

TEST_P(DecoderContract, DamagedMessagesMeanTheSameHoweverTheyArrive) {
  Random random;
  for (const auto& text : GetParam().complete) {
    for (int round = 0; round < 300; ++round) {
      auto damaged = text;
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
      ASSERT_EQ(bytes(damaged), whole(damaged)) << damaged;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Http1, DecoderContract, testing::ValuesIn(http1_subjects()),
                         [](const auto& subject) { return subject.param.name; });
INSTANTIATE_TEST_SUITE_P(Cgi, DecoderContract, testing::ValuesIn(cgi_subjects()),
                         [](const auto& subject) { return subject.param.name; });
INSTANTIATE_TEST_SUITE_P(CgiRequests, DecoderContract, testing::ValuesIn(cgi_request_subjects()),
                         [](const auto& subject) { return subject.param.name; });

INSTANTIATE_TEST_SUITE_P(ProxyProtocol, DecoderContract, testing::ValuesIn(proxy_protocol_subjects()),
                         [](const auto& subject) { return subject.param.name; });

}  // namespace
}  // namespace pontage::contract
