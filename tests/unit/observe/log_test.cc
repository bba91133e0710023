#include "src/observe/log.h"

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "src/util/unique_fd.h"

namespace pontage::observe {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

// The error log of this process, started on a file of its own.
class LogTest : public ::testing::Test {
 protected:
  LogTest() : file_(std::tmpfile()) {}
  ~LogTest() override {
    log::stop();
    log::set_level(log::Level::info);
    std::fclose(file_);
  }
  void start(log::Level level = log::Level::info) { log::start({.level = level, .fd = ::fileno(file_)}); }
  std::string text() {
    log::stop();
    std::string all(1 << 20, '\0');
    const ssize_t n = ::pread(::fileno(file_), all.data(), all.size(), 0);
    all.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return all;
  }
  std::FILE* file_;
};

TEST_F(LogTest, WritesTimeLevelAndMessage) {
  start();
  log::info("listening on {}:{}", "localhost", 80);
  EXPECT_THAT(text(),
              MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{3}Z info listening on localhost:80\n"));
}

TEST_F(LogTest, LeavesOutWhatIsBelowItsLevel) {
  start(log::Level::warn);
  log::debug("one");
  log::info("two");
  log::warn("three");
  log::error("four");
  const std::string all = text();
  EXPECT_THAT(all, Not(HasSubstr("one")));
  EXPECT_THAT(all, Not(HasSubstr("two")));
  EXPECT_THAT(all, HasSubstr("warning three\n"));
  EXPECT_THAT(all, HasSubstr("error four\n"));
}

TEST_F(LogTest, ForeignBytesStayOnOneLine) {
  start();
  log::error("server says {}", "a\nb\x1b[31m\xff {} %v");
  EXPECT_THAT(text(), EndsWith(" error server says a\\x0Ab\\x1B[31m\\xFF {} %v\n"));
}

TEST_F(LogTest, CutsAnEndlessMessage) {
  start();
  log::error("{}", std::string(100'000, '\x01'));
  const std::string all = text();
  EXPECT_LT(all.size(), log::kMaxLine + 100);
  EXPECT_THAT(all, EndsWith(" ...\n"));
}

TEST_F(LogTest, KeepsEveryLineOfManyThreads) {
  start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 500; ++i) log::info("thread {} line {}.", t, i);
    });
  }
  for (auto& thread : threads) thread.join();
  const std::string all = text();
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 2000);
  EXPECT_THAT(all, HasSubstr("thread 3 line 499.\n"));
}

TEST_F(LogTest, ASlowReaderCostsTheOldestLinesNotTheCaller) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const util::UniqueFd reader(ends[0]);
  util::UniqueFd writer(ends[1]);
  const std::uint64_t before = log::dropped();
  log::start({.fd = writer.get(), .queue = 16});
  const std::string big(4000, 'x');
  for (int i = 0; i < 100; ++i) log::info("{} {}", i, big);  // 400 KB, and nobody reads
  EXPECT_GT(log::dropped(), before);
  std::string all;
  std::thread reading([&] {
    std::vector<char> room(1 << 16);
    for (ssize_t n = 1; n > 0;) {
      n = ::read(reader.get(), room.data(), room.size());
      if (n > 0) all.append(room.data(), static_cast<std::size_t>(n));
    }
  });
  log::stop();
  writer.reset();
  reading.join();
  EXPECT_THAT(all, HasSubstr(" 99 x"));
}

TEST_F(LogTest, HoldsBackWhatRepeats) {
  static int run = 0;  // the limiter lives as long as the process
  const std::string key = "LogTest." + std::to_string(++run);
  start();
  for (int i = 0; i < 5; ++i) log::warn_limited(key, "again {}", i);
  const std::string all = text();
  EXPECT_THAT(all, HasSubstr("again 0\n"));
  EXPECT_THAT(all, Not(HasSubstr("again 1")));
}

TEST(LogLimiter, LetsOnePassPerKeyAndIntervalAndCountsTheRest) {
  log::RateLimiter limiter(std::chrono::seconds(10));
  log::RateLimiter::Clock::time_point now{};
  EXPECT_EQ(limiter.admit("a", now), 0U);
  EXPECT_EQ(limiter.admit("b", now), 0U);
  EXPECT_EQ(limiter.admit("a", now + std::chrono::seconds(1)), std::nullopt);
  EXPECT_EQ(limiter.admit("a", now + std::chrono::seconds(9)), std::nullopt);
  EXPECT_EQ(limiter.admit("a", now + std::chrono::seconds(10)), 2U);
  EXPECT_EQ(limiter.admit("few", now, 2), 0U);
  EXPECT_EQ(limiter.admit("few", now, 2), 0U);
  EXPECT_EQ(limiter.admit("few", now, 2), std::nullopt);
  EXPECT_EQ(limiter.admit("few", now + std::chrono::seconds(10), 2), 1U);
  EXPECT_EQ(limiter.admit("a", now + std::chrono::seconds(30)), 0U);
}

TEST(LogLimiter, ForgetsTheOldestKeyWhenThereAreTooMany) {
  log::RateLimiter limiter(std::chrono::hours(1));
  log::RateLimiter::Clock::time_point now{};
  for (std::size_t i = 0; i <= log::RateLimiter::kMaxKeys; ++i) {
    EXPECT_EQ(limiter.admit(std::to_string(i), now + std::chrono::seconds(i)), 0U);
  }
  EXPECT_EQ(limiter.admit("1", now + std::chrono::minutes(10)), std::nullopt);
  EXPECT_EQ(limiter.admit("0", now + std::chrono::minutes(10)), 0U);
}

}  // namespace
}  // namespace pontage::observe
