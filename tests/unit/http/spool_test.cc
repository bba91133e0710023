// A request body that waits in memory and in a file: every byte comes out as it went in.
#include "src/http/spool.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/http/spool_bench.h"

namespace pontage::http {
namespace {

using net::Task;
using testing::send;
using testing::Sent;
using testing::some_bytes;
using testing::SpoolTest;
using testing::Upload;
using Until = Spool::Until;

TEST_F(SpoolTest, AnEmptyBodyIsOneEmptyLastBatch) {
  EXPECT_EQ(round_trip("", Upload("")), 0U);
}

TEST_F(SpoolTest, ASmallBodyOpensNoFile) {
  EXPECT_EQ(round_trip("hello", Upload("hello", 2)), 0U);
}

TEST_F(SpoolTest, ABodyOfExactlyTheLimitOpensNoFile) {
  const std::string bytes = some_bytes(policy.memory);
  Upload upload(bytes);
  upload.end_comes_alone = true;
  EXPECT_EQ(round_trip(bytes, std::move(upload)), 0U);
}

TEST_F(SpoolTest, OneBytePastTheLimitIsInTheFile) {
  const std::string bytes = some_bytes(policy.memory + 1);
  EXPECT_EQ(round_trip(bytes, Upload(bytes)), 1U);
}

TEST_F(SpoolTest, ManyMebibytesInOddPortions) {
  const std::string bytes = some_bytes((5 << 20) + 17);
  EXPECT_EQ(round_trip(bytes, Upload(bytes, 9973), 31337), bytes.size() - policy.memory);
}

TEST_F(SpoolTest, PortionsLargerThanABufferOfTheFile) {
  policy.memory = 100;
  const std::string bytes = some_bytes(700'000);
  EXPECT_EQ(round_trip(bytes, Upload(bytes, 1 << 20), 1 << 20), bytes.size() - 100);
}

TEST_F(SpoolTest, WithoutMemoryAllIsInTheFile) {
  policy.memory = 0;
  const std::string bytes = some_bytes(3 * 65536);
  Upload upload(bytes);
  upload.end_comes_alone = true;
  EXPECT_EQ(round_trip(bytes, std::move(upload)), bytes.size());
}

TEST_F(SpoolTest, MuchMemoryNeedsSeveralBatches) {
  policy.memory = 4 << 20;
  const std::string bytes = some_bytes(3'000'001);
  EXPECT_EQ(round_trip(bytes, Upload(bytes, 50'000), 8 << 20), 0U);
}

TEST_F(SpoolTest, KeepsToTheBudgetOfEachPull) {
  policy.memory = 5000;
  const std::string bytes = some_bytes(9000);
  Upload upload(bytes);
  Spool spool(loop.reactor, *pool, policy);
  const auto scenario = [&]() -> Task<void> {
    co_await take_all(spool, upload);
    for (const std::size_t budget : {1U, 7U, 4096U, 5000U, 8999U, 9000U}) {
      Sent sent;
      co_await send(spool, sent, budget);
      EXPECT_TRUE(sent.bytes == bytes) << budget;
      EXPECT_GE(sent.pulls, static_cast<int>(9000 / budget));
      spool.rewind();
    }
    BodyBatch batch;
    for (const int pulls : {0, 1}) {  // in memory, in the file
      Sent sent;
      co_await send(spool, sent, 5000, pulls);
      const auto pulled = co_await spool.pull(batch, 0, Patience::wait);
      EXPECT_TRUE(pulled && batch.count == 0 && batch.last == Last::no);
      spool.rewind();
    }
  };
  loop.run(scenario());
}

TEST_F(SpoolTest, RewindsFromTheMiddle) {
  policy.memory = 1000;
  const std::string bytes = some_bytes(200'000);
  Upload upload(bytes);
  Spool spool(loop.reactor, *pool, policy);
  const auto scenario = [&]() -> Task<void> {
    co_await take_all(spool, upload);
    Sent sent;
    for (const int pulls : {1, 3, 150}) {
      co_await send(spool, sent, 999, pulls);
      EXPECT_TRUE(bytes.starts_with(sent.bytes) && !sent.last) << pulls;
      spool.rewind();
    }
    co_await send(spool, sent);
    EXPECT_TRUE(sent.bytes == bytes && sent.last);
  };
  loop.run(scenario());
}

TEST_F(SpoolTest, StopsWhenMemoryIsFullAndGoesOn) {
  const std::string bytes = some_bytes(300'000);
  Upload upload(bytes, 10'000);
  Spool spool(loop.reactor, *pool, policy);
  const auto scenario = [&]() -> Task<void> {
    for (int round = 0; round < 2; ++round) {  // full it stays full
      const auto taken = co_await spool.take(upload, Until::memory);
      EXPECT_TRUE(taken && !*taken);
      EXPECT_EQ(upload.taken(), policy.memory) << "nothing is taken that memory has no place for";
      EXPECT_EQ(spool.size(), policy.memory);
      EXPECT_EQ(spool.in_file(), 0U);
      EXPECT_FALSE(spool.ended());
    }
    co_await take_all(spool, upload);
    const auto once_more = co_await spool.take(upload, Until::memory);
    EXPECT_TRUE(once_more && *once_more);
    Sent sent;
    co_await send(spool, sent);
    EXPECT_TRUE(sent.bytes == bytes && sent.last);
  };
  loop.run(scenario());
}

TEST_F(SpoolTest, ABodyThatFitsEndsWithinMemory) {
  Upload upload("short", 1);
  Spool spool(loop.reactor, *pool, policy);
  const auto scenario = [&]() -> Task<void> {
    const auto taken = co_await spool.take(upload, Until::memory);
    EXPECT_TRUE(taken && *taken && spool.ended());
  };
  loop.run(scenario());
}

TEST_F(SpoolTest, WhatFollowsComesBehindTheHeldBytes) {
  const std::string bytes = some_bytes(100'000);
  Upload upload(bytes);
  Spool spool(loop.reactor, *pool, policy);
  const auto scenario = [&]() -> Task<void> {
    const auto taken = co_await spool.take(upload, Until::memory);
    EXPECT_TRUE(taken && !*taken);
    spool.follow(upload);
    Sent sent;
    co_await send(spool, sent, 65536, 1);
    EXPECT_TRUE(sent.bytes == bytes.substr(0, policy.memory) && !sent.last);
    EXPECT_TRUE(spool.rewindable());
    spool.rewind();
    co_await send(spool, sent, 1234);
    EXPECT_TRUE(sent.bytes == bytes && sent.last);
    EXPECT_FALSE(spool.rewindable());
  };
  loop.run(scenario());
}

TEST_F(SpoolTest, ARestOfNothingCanBeSentAgain) {
  const std::string bytes = some_bytes(policy.memory);
  Upload upload(bytes);
  upload.end_comes_alone = true;
  Spool spool(loop.reactor, *pool, policy);
  const auto scenario = [&]() -> Task<void> {
    const auto taken = co_await spool.take(upload, Until::memory);
    EXPECT_TRUE(taken && !*taken);
    spool.follow(upload);
    for (int round = 0; round < 2; ++round) {
      Sent sent;
      co_await send(spool, sent);
      EXPECT_TRUE(sent.bytes == bytes && sent.last);
      EXPECT_TRUE(spool.rewindable());
      spool.rewind();
    }
  };
  loop.run(scenario());
}

}  // namespace
}  // namespace pontage::http
