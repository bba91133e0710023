// A spool in trouble: its client, its disk, its pool, or who waits for it fails.
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/http/spool.h"
#include "src/util/unique_fd.h"
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

TEST_F(SpoolTest, PassesOnAFailureOfTheRest) {
  Upload upload(some_bytes(100'000));
  upload.fails_at = policy.memory + 5000;
  Spool spool(loop.reactor, *pool, policy);
  const auto scenario = [&]() -> Task<void> {
    const auto taken = co_await spool.take(upload, Until::memory);
    EXPECT_TRUE(taken && !*taken);
    spool.follow(upload);
    Sent sent;
    co_await send(spool, sent, 5000);
    EXPECT_TRUE(sent.failed);
    EXPECT_EQ(sent.error.kind, util::ErrorKind::too_slow);
  };
  loop.run(scenario());
}

TEST_F(SpoolTest, PassesOnAFailureOfTheClient) {
  for (const std::size_t at : {3U, 200'000U}) {
    net::testing::Loop another;
    Upload upload(some_bytes(300'000), at);
    upload.fails_at = at;
    Spool spool(another.reactor, *pool, policy);
    const auto scenario = [&]() -> Task<void> {
      const auto taken = co_await spool.take(upload, Until::end);
      EXPECT_FALSE(taken);
      if (taken) co_return;
      EXPECT_EQ(taken.error().kind, util::ErrorKind::too_slow);
      EXPECT_EQ(taken.error().source, util::Source::client);
      EXPECT_EQ(taken.error().detail, "test");
    };
    another.run(scenario());
  }
}

TEST_F(SpoolTest, AFolderThatDoesNotExistIsAnErrorOfTheGateway) {
  const std::string folder = std::exchange(policy.folder, policy.folder + "/none");
  const util::Error error = refused(Upload(some_bytes(policy.memory + 1)));
  policy.folder = folder;
  EXPECT_EQ(error.kind, util::ErrorKind::io);
  EXPECT_EQ(error.source, util::Source::gateway);
  EXPECT_EQ(error.detail, "spool file");
  EXPECT_EQ(error.os_error, ENOENT);
}

// The kernel writes up to the limit, so the last write of two is a short one and then a failed one.
TEST_F(SpoolTest, AFileThatCannotGrowIsAnErrorOfTheGateway) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100'000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const util::Error error = refused(Upload(some_bytes(policy.memory + 2 * 65536)));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(error.kind, util::ErrorKind::io);
  EXPECT_EQ(error.os_error, EFBIG);
}

TEST_F(SpoolTest, AFullPoolIsAnOverload) {
  pool = std::make_unique<net::BlockingPool>(1, 0);
  EXPECT_EQ(refused(Upload(some_bytes(policy.memory + 1))).kind, util::ErrorKind::overload);
}

TEST_F(SpoolTest, AFileCutShortIsAnErrorOfTheGateway) {
  const std::string bytes = some_bytes(500'000);
  Upload upload(bytes);
  Spool spool(loop.reactor, *pool, policy);
  const auto scenario = [&]() -> Task<void> {
    co_await take_all(spool, upload);
    const auto files = open_files();
    EXPECT_EQ(files.size(), 1U);
    EXPECT_EQ(::ftruncate(files.at(0), 100'000), 0);
    Sent sent;
    co_await send(spool, sent);
    EXPECT_TRUE(sent.failed);
    EXPECT_EQ(sent.error.kind, util::ErrorKind::io);
    EXPECT_TRUE(sent.bytes == bytes.substr(0, policy.memory + 100'000));
  };
  loop.run(scenario());
}

TEST_F(SpoolTest, AFileOutOfThePageCacheIsReadOnThePool) {
  const std::string bytes = some_bytes(2 << 20);
  Upload upload(bytes);
  Spool spool(loop.reactor, *pool, policy);
  const auto scenario = [&]() -> Task<void> {
    co_await take_all(spool, upload);
    EXPECT_EQ(::fdatasync(open_files().at(0)), 0);
    EXPECT_EQ(::posix_fadvise(open_files().at(0), 0, 0, POSIX_FADV_DONTNEED), 0);
    Sent sent;
    co_await send(spool, sent);
    EXPECT_TRUE(sent.bytes == bytes && sent.last);
  };
  loop.run(scenario());
}

TEST_F(SpoolTest, WhoCannotWaitGetsNothingOfAFileThatIsNotAtHand) {
  policy.memory = 10;
  Upload upload(some_bytes(1000));
  Spool spool(loop.reactor, *pool, policy);
  const auto scenario = [&]() -> Task<void> {
    co_await take_all(spool, upload);
    // Reading this fails both ways.
    const util::UniqueFd unreadable(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    EXPECT_GE(::dup3(unreadable.get(), open_files().at(0), O_CLOEXEC), 0);
    Sent sent;
    co_await send(spool, sent, 65536, 1);
    EXPECT_EQ(sent.bytes.size(), 10U);
    BodyBatch batch;
    const auto pulled = co_await spool.pull(batch, 65536, Patience::none);
    EXPECT_TRUE(pulled && batch.count == 0 && batch.last == Last::no);
    co_await send(spool, sent);
    EXPECT_TRUE(sent.failed);
    EXPECT_EQ(sent.error.os_error, EBADF);
  };
  loop.run(scenario());
}

// Holds the pool's only thread until it is let go.
struct HeldJob final : net::BlockingPool::Job {
  std::promise<void> open;
  void run() noexcept override { open.get_future().wait(); }
};

TEST_F(SpoolTest, ACancelledUploadLeavesItsJobToThePool) {
  pool = std::make_unique<net::BlockingPool>(1);
  const auto held = std::make_shared<HeldJob>();
  ASSERT_TRUE(pool->post(held));
  Upload upload(some_bytes(200'000));
  net::testing::Side side(loop.reactor);
  util::Error error;
  auto spool = std::make_unique<Spool>(loop.reactor, *pool, policy);
  const auto takes = [&]() -> Task<void> {
    const auto taken = co_await spool->take(upload, Until::end);
    if (!taken) error = taken.error();
    spool.reset();
  };
  const auto scenario = [&]() -> Task<void> {
    side.start(takes());
    co_await net::testing::turns(3);
    EXPECT_FALSE(side.ended);
    side.fiber.cancel();
    co_await net::testing::turns(3);
    EXPECT_TRUE(side.ended);
  };
  loop.run(scenario());
  EXPECT_EQ(error.kind, util::ErrorKind::cancelled);
  EXPECT_EQ(spool, nullptr);
  held->open.set_value();
}

TEST_F(SpoolTest, ACancelledPullCanBeMadeAgain) {
  pool = std::make_unique<net::BlockingPool>(1);
  policy.memory = 0;
  const std::string bytes = some_bytes(300'000);
  Upload upload(bytes);
  Spool spool(loop.reactor, *pool, policy);
  const auto held = std::make_shared<HeldJob>();
  net::testing::Side side(loop.reactor);
  Sent first;
  const auto scenario = [&]() -> Task<void> {
    co_await take_all(spool, upload);
    EXPECT_EQ(::fdatasync(open_files().at(0)), 0);
    EXPECT_EQ(::posix_fadvise(open_files().at(0), 0, 0, POSIX_FADV_DONTNEED), 0);
    EXPECT_TRUE(pool->post(held));
    side.start(send(spool, first));
    side.fiber.cancel();
    co_await net::testing::turns(3);
    EXPECT_TRUE(side.ended);
    held->open.set_value();
    spool.rewind();
    Sent sent;
    co_await send(spool, sent);
    EXPECT_TRUE(sent.bytes == bytes && sent.last);
  };
  loop.run(scenario());
}

TEST_F(SpoolTest, AFileIsUnlinkedWhereNamelessOnesAreUnknown) {
  const util::UniqueFd file(detail::open_unlinked(policy.folder));
  ASSERT_TRUE(file);
  EXPECT_TRUE(std::filesystem::is_empty(policy.folder));
  EXPECT_EQ(::fcntl(file.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::pwrite(file.get(), "x", 1, 0), 1);
  EXPECT_LT(detail::open_unlinked(policy.folder + "/none"), 0);
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace pontage::http
