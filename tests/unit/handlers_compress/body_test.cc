// How a compressed body comes: nothing lost, nothing held back, nothing whole that is not.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/util/unique_fd.h"
#include "tests/unit/handlers_compress/bench.h"

namespace pontage::handlers {
namespace {

using namespace testing;
using pontage::testing::decode;
using pontage::testing::random_bytes;
using pontage::testing::words;
using util::ErrorKind;
using util::Source;

constexpr const char* kCodings[] = {"gzip", "br", "zstd"};

// An open file without a name.
util::UniqueFd file_of(std::string_view bytes) {
  std::string name = "/tmp/pontage-compress-XXXXXX";
  util::UniqueFd fd(::mkstemp(name.data()));
  ::unlink(name.c_str());
  EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return fd;
}
Act range(int file, std::uint64_t offset, std::uint64_t count) {
  return {.file = file, .offset = offset, .count = count};
}

TEST(CompressBody, GivesBackBodiesOfAllSizesInAllCodings) {
  Bench bench;
  for (const auto* coding : kCodings) {
    for (const std::size_t size : {0, 1, 16384, 65536, 65537, 1'000'000}) {
      for (const std::string& bytes : {words(size), random_bytes(size)}) {
        Script script;
        script.acts = {last(bytes)};
        const Answer answer = bench.ask_for(coding, script);
        EXPECT_TRUE(answer.decoded().ended) << coding << size;
        EXPECT_TRUE(answer.decoded().text == bytes) << coding << size;
        EXPECT_EQ(bench.inner->body->drops, 1U);
      }
    }
  }
}

TEST(CompressBody, KeepsToTheBudget) {
  Bench bench;
  const std::string bytes = random_bytes(40'000);
  for (const auto* coding : kCodings) {
    for (const std::size_t budget : {1, 7, 1000, 16384}) {
      bench.budget = budget;
      Script script;
      script.acts = {give(bytes.substr(0, 30'000)), last(bytes.substr(30'000))};
      script.trailers = {{"X-Sum", "1"}};
      const Answer answer = bench.ask_for(coding, script);
      EXPECT_TRUE(answer.decoded().ended && answer.decoded().text == bytes) << coding << budget;
      EXPECT_EQ(answer.trailers.size(), 1U);
    }
  }
}

TEST(CompressBody, PiecesOfASourceAreCompressedTogether) {
  Bench bench;
  Script script;
  for (int i = 0; i < 100; ++i) script.acts.push_back(give(words(300)));
  script.acts.push_back(last());
  const Answer answer = bench.ask_for("gzip", script);
  EXPECT_EQ(answer.batches.size(), 1U) << "all of it was ready";
  EXPECT_FALSE(answer.batches[0].flush);
  EXPECT_EQ(answer.decoded().text.size(), 30'000U);
}

TEST(CompressBody, ReadsFileRanges) {
  Bench bench;
  const std::string bytes = words(300'000);
  const util::UniqueFd file = file_of(bytes);
  for (const auto* coding : kCodings) {
    Script script;
    script.framing = {message::BodyKind::exact, 200'003};
    Act end = range(file.get(), 240'000, 50'000);
    end.last = http::Last::yes;
    script.acts = {range(file.get(), 90'000, 150'000), give("and"), end};
    const Answer answer = bench.ask_for(coding, script);
    EXPECT_TRUE(answer.decoded().ended);
    EXPECT_TRUE(answer.decoded().text == bytes.substr(90'000, 150'000) + "and" + bytes.substr(240'000, 50'000));
  }
}

TEST(CompressBody, AFileThatEndsEarlyIsAnErrorAndNoEnd) {
  Bench bench;
  const util::UniqueFd file = file_of(words(100'000));
  Script script;
  script.framing = {message::BodyKind::exact, 200'000};
  script.acts = {range(file.get(), 0, 200'000), last()};
  Answer answer = bench.ask_for("gzip", script);
  ASSERT_TRUE(answer.body_error);
  EXPECT_EQ(answer.body_error->kind, ErrorKind::closed);
  EXPECT_EQ(answer.body_error->source, Source::gateway);
  EXPECT_FALSE(answer.decoded().ended);
  const util::UniqueFd only_written(::open("/dev/null", O_WRONLY));
  script.acts = {range(only_written.get(), 0, 200'000)};
  answer = bench.ask_for("gzip", script);
  ASSERT_TRUE(answer.body_error);
  EXPECT_EQ(answer.body_error->kind, ErrorKind::io);
}

TEST(CompressBody, WhatTheSourceWantsSentGoesAtOnce) {
  Bench bench;
  for (const auto* coding : kCodings) {
    Script script;
    script.fields = {{"Content-Type", "text/event-stream"}};
    script.acts = {flushed("data: 1\n\n"), flushed("data: 2\n\n"), last()};
    const Answer answer = bench.ask_for(coding, script);
    ASSERT_EQ(answer.batches.size(), 3U);
    EXPECT_TRUE(answer.batches[0].flush);
    EXPECT_TRUE(answer.batches[1].flush);
    const auto tested = *message::parse_content_coding(coding);
    EXPECT_EQ(decode(tested, answer.batches[0].bytes).text, "data: 1\n\n");
    EXPECT_EQ(decode(tested, answer.batches[0].bytes + answer.batches[1].bytes).text, "data: 1\n\ndata: 2\n\n");
    EXPECT_TRUE(answer.decoded().ended);
  }
}

TEST(CompressBody, NoEventIsHeldWhileTheSourceIsQuiet) {
  Bench bench;
  for (const auto* coding : kCodings) {
    Script script;
    script.fields = {{"Content-Type", "text/event-stream"}};
    script.acts = {quiet(), give("data: 1\n\n"), quiet(), give("data: 2\n\n"), give("data: 3\n\n"), quiet(), last()};
    const Answer answer = bench.ask_for(coding, script);
    ASSERT_EQ(answer.batches.size(), 4U);
    EXPECT_EQ(answer.batches[0].bytes, "") << "the head goes out before the first event";
    std::string sent;
    const std::string expected[] = {"", "data: 1\n\n", "data: 1\n\ndata: 2\n\ndata: 3\n\n"};
    for (std::size_t i = 1; i < 3; ++i) {
      sent += answer.batches[i].bytes;
      EXPECT_TRUE(answer.batches[i].flush);
      EXPECT_EQ(decode(*message::parse_content_coding(coding), sent).text, expected[i]);
    }
    EXPECT_TRUE(answer.decoded().ended);
    EXPECT_EQ(bench.inner->body->waits, 3U);
  }
}

TEST(CompressBody, ASlowPageIsNotHeldEither) {
  Bench bench;
  Script script;
  script.acts = {give("<html>"), quiet(), last("</html>")};
  const Answer answer = bench.ask_for("gzip", script);
  ASSERT_EQ(answer.batches.size(), 2U);
  EXPECT_EQ(decode(message::ContentCoding::gzip, answer.batches[0].bytes).text, "<html>");
  EXPECT_EQ(answer.decoded().text, "<html></html>");
}

TEST(CompressBody, AnEmptyFlushSendsNothing) {
  Bench bench;
  Script script;
  script.acts = {flushed(""), flushed("a"), flushed(""), flushed(""), last("b")};
  const Answer answer = bench.ask_for("gzip", script);
  EXPECT_EQ(answer.decoded().text, "ab");
  EXPECT_LE(answer.batches.size(), 3U);
}

TEST(CompressBody, AnErrorComesAfterWhatWasBeforeItAndWithoutAnEnd) {
  Bench bench;
  for (const auto* coding : kCodings) {
    Script script;
    script.acts = {give(words(100'000)), give("tail"), failure()};
    const Answer answer = bench.ask_for(coding, script);
    ASSERT_TRUE(answer.body_error);
    EXPECT_EQ(answer.body_error->kind, ErrorKind::reset);
    EXPECT_EQ(answer.body_error->source, Source::server);
    EXPECT_FALSE(answer.decoded().ended);
    EXPECT_TRUE(answer.decoded().text == words(100'000) + "tail") << coding;
    EXPECT_EQ(bench.inner->body->drops, 1U);
  }
}

TEST(CompressBody, AnErrorBeforeTheFirstByteLeavesRoomForAnotherAnswer) {
  Bench bench;
  Script script;
  script.acts = {failure()};
  const Answer answer = bench.ask_for("br", script);
  ASSERT_TRUE(answer.body_error);
  EXPECT_TRUE(answer.batches.empty());
}

TEST(CompressBody, ALengthThatIsNotKeptIsAnError) {
  Bench bench;
  Script script;
  script.framing = {message::BodyKind::exact, 2000};
  script.acts = {give(words(1000)), last(words(999))};
  Answer answer = bench.ask_for("gzip", script);
  ASSERT_TRUE(answer.body_error);
  EXPECT_EQ(answer.body_error->detail, "short_response");
  EXPECT_EQ(answer.decoded().text, words(1000) + words(999));
  EXPECT_FALSE(answer.decoded().ended);
  script.acts = {give(words(1000)), last(words(1001))};
  answer = bench.ask_for("gzip", script);
  ASSERT_TRUE(answer.body_error);
  EXPECT_EQ(answer.body_error->detail, "long_response");
  EXPECT_EQ(answer.decoded().text, words(1000)) << "what is beyond the length goes nowhere";
  EXPECT_FALSE(answer.decoded().ended);
}

TEST(CompressBody, TrailersComeWithTheEnd) {
  Bench bench;
  for (const std::string& bytes : {words(100), words(500'000), random_bytes(100'000)}) {
    Script script;
    script.acts = {give(bytes), last()};
    script.trailers = {{"Server-Timing", "db;dur=5"}, {"X-Sum", "1"}};
    const Answer answer = bench.ask_for("zstd", script);
    EXPECT_EQ(answer.trailers, script.trailers);
    EXPECT_TRUE(answer.batches.back().last);
    EXPECT_TRUE(answer.decoded().text == bytes);
  }
}

TEST(CompressBody, AClientThatGoesHalfWayLeavesNothingBehind) {
  Bench bench;
  bench.most_pulls = 2;
  for (const auto* coding : kCodings) {
    Script script;
    for (int i = 0; i < 10; ++i) script.acts.push_back(give(random_bytes(50'000)));
    const Answer answer = bench.ask_for(coding, script);
    EXPECT_EQ(answer.batches.size(), 2U);
    EXPECT_EQ(bench.inner->body->drops, 1U);
  }
}

TEST(CompressBody, OthersHaveTheirTurnAndMayEndIt) {
  Bench bench;
  bench.cancel_after_first = true;
  Script script;
  script.acts = {give(random_bytes(65536)), give(std::string(10'000'000, 'a')), last()};
  const Answer answer = bench.ask_for("gzip", script);
  ASSERT_TRUE(answer.body_error) << "only a wait can be cancelled";
  EXPECT_EQ(answer.body_error->kind, ErrorKind::cancelled);
  EXPECT_LE(answer.batches.size(), 5U);
  EXPECT_EQ(bench.inner->body->drops, 1U);
}

TEST(CompressBody, InputThatNearlyVanishesStillComesToItsEnd) {
  Bench bench;
  const std::string zeros(20'000'000, '\0');
  for (const auto* coding : kCodings) {
    Script script;
    script.acts = {give(zeros), last()};
    const Answer answer = bench.ask_for(coding, script);
    EXPECT_TRUE(answer.decoded().ended && answer.decoded().text == zeros) << coding;
    EXPECT_LT(answer.bytes().size(), 40'000U);
  }
}

}  // namespace
}  // namespace pontage::handlers
