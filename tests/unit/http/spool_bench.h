// Uploads, and a spool with a folder of its own that must be left empty.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "src/http/spool.h"
#include "tests/unit/net/loop.h"

namespace pontage::http::testing {

using net::Task;
using Until = Spool::Until;

// Bytes that differ wherever one looks; the same for the same size.
inline std::string some_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 12345;
  for (char& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

// A body in portions of at most so many bytes, in several pieces a batch, from memory that is gone with the next pull.
class Upload final : public BodySource {
 public:
  explicit Upload(std::string bytes, std::size_t portion = 16384) : bytes_(std::move(bytes)), portion_(portion) {}

  Task<util::Result<void>> pull(BodyBatch& batch, std::size_t budget, Patience) override {
    EXPECT_FALSE(told_last_);
    EXPECT_GT(budget, 0U);
    if (fails_at != 0 && at_ >= fails_at) co_return util::fail(util::ErrorKind::too_slow, util::Source::client, "test");
    std::fill(now_.begin(), now_.end(), '#');  // whoever kept a view sees this
    now_ = bytes_.substr(at_, std::min(portion_, budget));
    at_ += now_.size();
    std::string_view left = now_;
    for (std::size_t size = 1; !left.empty(); size = size * 3 + 1) {
      const bool all = batch.count == BodyBatch::kPieces - 1;
      batch.add(all ? left : left.substr(0, size));
      left.remove_prefix(std::min(left.size(), all ? left.size() : size));
    }
    told_last_ = at_ == bytes_.size() && (now_.empty() || !end_comes_alone);
    if (told_last_) batch.last = Last::yes;
    co_return util::Result<void>{};
  }
  void drop() noexcept override {}
  std::size_t taken() const noexcept { return at_; }

  std::size_t fails_at = 0;
  bool end_comes_alone = false;  // as that of a chunked body

 private:
  std::string bytes_;
  std::size_t portion_;
  std::size_t at_ = 0;
  std::string now_;
  bool told_last_ = false;
};

struct Sent {
  std::string bytes;
  bool last = false;
  util::Error error;
  bool failed = false;
  int pulls = 0;
};

inline Task<void> send(Spool& spool, Sent& sent, std::size_t budget = 65536, int most_pulls = 1 << 30) {
  sent = {};
  BodyBatch batch;
  while (sent.pulls < most_pulls && !sent.last) {
    batch.clear();
    ++sent.pulls;
    const auto pulled = co_await spool.pull(batch, budget, Patience::wait);
    if (!pulled) {
      sent.failed = true;
      sent.error = pulled.error();
      co_return;
    }
    EXPECT_LE(batch.bytes(), budget);
    EXPECT_TRUE(batch.bytes() > 0 || batch.last == Last::yes);
    for (const auto& piece : batch.view()) sent.bytes += piece.memory;
    sent.last = batch.last == Last::yes;
  }
}

class SpoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = std::filesystem::canonical(std::filesystem::temp_directory_path()) / "spool_test_XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    policy.folder = path;
  }
  void TearDown() override {
    pool.reset();
    EXPECT_EQ(open_files().size(), 0U) << "closed with the spool";
    std::error_code failed;
    EXPECT_TRUE(std::filesystem::remove(policy.folder, failed)) << "no file has a name";
  }

  // Descriptors of files that are or were in the folder.
  std::vector<int> open_files() const {
    std::vector<int> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const std::string target = std::filesystem::read_symlink(entry.path(), gone);
      if (target.starts_with(policy.folder + "/")) found.push_back(std::stoi(entry.path().filename()));
    }
    return found;
  }

  Task<void> take_all(Spool& spool, Upload& upload) {
    const auto taken = co_await spool.take(upload, Until::end);
    EXPECT_TRUE(taken && *taken);
    EXPECT_TRUE(spool.ended());
  }
  // In and out again, twice; how much was in the file.
  std::uint64_t round_trip(const std::string& bytes, Upload upload, std::size_t budget = 65536) {
    Spool spool(loop.reactor, *pool, policy);
    const auto scenario = [&]() -> Task<void> {
      co_await take_all(spool, upload);
      EXPECT_EQ(spool.size(), bytes.size());
      for (int round = 0; round < 2; ++round) {
        Sent sent;
        co_await send(spool, sent, budget);
        EXPECT_TRUE(sent.bytes == bytes);
        EXPECT_TRUE(sent.last);
        EXPECT_TRUE(spool.rewindable());
        spool.rewind();
      }
    };
    loop.run(scenario());
    EXPECT_EQ(open_files().size(), spool.in_file() > 0 ? 1U : 0U);
    return spool.in_file();
  }
  // Takes a body that does not get in; the error, which later calls give, too.
  util::Error refused(Upload upload) {
    Spool spool(loop.reactor, *pool, policy);
    util::Error error;
    const auto scenario = [&]() -> Task<void> {
      const auto taken = co_await spool.take(upload, Until::end);
      EXPECT_FALSE(taken);
      EXPECT_FALSE(spool.ended());
      if (taken) co_return;
      error = taken.error();
      const auto again = co_await spool.take(upload, Until::end);
      EXPECT_TRUE(!again && again.error().kind == error.kind);
      Sent sent;
      co_await send(spool, sent);
      EXPECT_TRUE(sent.failed && sent.error.kind == error.kind);
    };
    loop.run(scenario());
    return error;
  }

  net::testing::Loop loop;
  std::unique_ptr<net::BlockingPool> pool = std::make_unique<net::BlockingPool>(2);  // ends before the reactor
  SpoolPolicy policy;
};

}  // namespace pontage::http::testing
