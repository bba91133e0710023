#include "src/observe/access_log.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace pontage::observe {
namespace {

namespace fs = std::filesystem;

class AccessLogTest : public ::testing::Test {
 protected:
  AccessLogTest() {
    std::string name = (fs::temp_directory_path() / "pontage-log-XXXXXX").string();
    dir_ = ::mkdtemp(name.data());
  }
  ~AccessLogTest() override { fs::remove_all(dir_); }

  std::string path(const std::string& name) const { return (dir_ / name).string(); }
  static std::vector<std::string> lines(const std::string& file) {
    std::ifstream in(file);
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
  static AccessRecord record(std::string_view target) {
    return {.client = "c", .method = "GET", .target = target, .status = 200};
  }

  fs::path dir_;
};

TEST_F(AccessLogTest, WritesWhatWasFlushedOrStopped) {
  AccessLog log;
  ASSERT_TRUE(log.configure(AccessFormat::combined, path("a")));
  auto& one = log.add_ring();
  auto& two = log.add_ring();
  one.write(record("/1"));
  two.write(record("/2"));
  log.flush();
  EXPECT_EQ(lines(path("a")).size(), 2U);
  one.write(record("/3"));
  log.stop();
  ASSERT_EQ(lines(path("a")).size(), 3U);
  EXPECT_EQ(lines(path("a")).back(), "c - - [01/Jan/1970:00:00:00 +0000] \"GET /3\" 200 - \"-\" \"-\"");
  EXPECT_EQ(log.dropped(), 0U);
}

TEST_F(AccessLogTest, KeepsOrderAndLosesNothingFromTwoWorkers) {
  AccessLog log;
  ASSERT_TRUE(log.configure(AccessFormat::combined, path("a")));
  constexpr int kLines = 20000;
  AccessRing* const rings[] = {&log.add_ring(), &log.add_ring()};
  std::vector<std::thread> workers;
  for (int w = 0; w < 2; ++w) {
    workers.emplace_back([&, w] {
      for (int i = 0; i < kLines; ++i) rings[w]->write(record("/" + std::to_string(w) + "/" + std::to_string(i) + "/"));
    });
  }
  for (auto& worker : workers) worker.join();
  log.stop();
  int next[2] = {0, 0};
  const auto all = lines(path("a"));
  for (const auto& line : all) {
    const auto at = line.find("GET /");
    ASSERT_NE(at, std::string::npos) << line;
    ASSERT_TRUE(line.ends_with("\"-\" \"-\"")) << line;
    const int w = line[at + 5] - '0';
    const int i = std::stoi(line.substr(at + 7));
    ASSERT_GE(i, next[w]);
    next[w] = i + 1;
  }
  EXPECT_EQ(all.size() + log.dropped(), 2U * kLines);
}

TEST_F(AccessLogTest, ReopensAfterTheFileWasMoved) {
  AccessLog log;
  ASSERT_TRUE(log.configure(AccessFormat::combined, path("a")));
  auto& ring = log.add_ring();
  ring.write(record("/old"));
  log.flush();
  fs::rename(path("a"), path("a.1"));
  ring.write(record("/still-old"));
  log.flush();
  EXPECT_FALSE(fs::exists(path("a")));
  log.reopen();
  log.flush();
  ring.write(record("/new"));
  log.flush();
  EXPECT_EQ(lines(path("a.1")).size(), 2U);
  EXPECT_EQ(lines(path("a")).size(), 1U);
}

TEST_F(AccessLogTest, KeepsTheOldFileWhenTheDirectoryIsGoneAndTriesAgain) {
  fs::create_directory(dir_ / "d");
  AccessLog log;
  ASSERT_TRUE(log.configure(AccessFormat::combined, path("d/a")));
  auto& ring = log.add_ring();
  fs::rename(dir_ / "d", dir_ / "e");
  log.reopen();
  ring.write(record("/1"));
  log.flush();
  EXPECT_EQ(lines(path("e/a")).size(), 1U);
  fs::create_directory(dir_ / "d");
  log.flush();
  ring.write(record("/2"));
  log.flush();
  EXPECT_EQ(lines(path("e/a")).size(), 1U);
  EXPECT_EQ(lines(path("d/a")).size(), 1U);
}

TEST_F(AccessLogTest, RefusesAFileItCannotOpenAndGoesOn) {
  AccessLog log;
  ASSERT_TRUE(log.configure(AccessFormat::combined, path("a")));
  auto& ring = log.add_ring();
  const auto refused = log.configure(AccessFormat::json, path("missing/a"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().os_error, ENOENT);
  ring.write(record("/1"));
  log.flush();
  ASSERT_EQ(lines(path("a")).size(), 1U);
  EXPECT_EQ(lines(path("a"))[0][0], 'c');
}

TEST_F(AccessLogTest, ChangesFileAndFormatOnReload) {
  AccessLog log;
  auto& ring = log.add_ring();
  EXPECT_FALSE(ring.enabled());
  ring.write(record("/off"));
  ASSERT_TRUE(log.configure(AccessFormat::combined, path("a")));
  EXPECT_TRUE(ring.enabled());
  ring.write(record("/1"));
  ASSERT_TRUE(log.configure(AccessFormat::json, path("b")));
  ring.write(record("/2"));
  ASSERT_TRUE(log.configure(AccessFormat::off, ""));
  ring.write(record("/3"));
  log.stop();
  EXPECT_EQ(lines(path("a")).size(), 1U);
  ASSERT_EQ(lines(path("b")).size(), 1U);
  EXPECT_EQ(lines(path("b"))[0][0], '{');
}

TEST_F(AccessLogTest, AFullDiskDropsAndCountsButNeverBlocks) {
  AccessLog log(4096);
  ASSERT_TRUE(log.configure(AccessFormat::combined, "/dev/full"));
  auto& ring = log.add_ring();
  for (int i = 0; i < 1000; ++i) ring.write(record("/full"));
  log.flush();
  EXPECT_GT(log.dropped(), 900U);
  // Space again: what the ring still holds is written, whole.
  ASSERT_TRUE(log.configure(AccessFormat::combined, path("a")));
  log.stop();
  EXPECT_EQ(lines(path("a")).size() + log.dropped(), 1000U);
}

TEST_F(AccessLogTest, ASlowPipeDelaysButNeverTears) {
  ASSERT_EQ(::mkfifo(path("p").c_str(), 0600), 0);
  AccessLog log(1 << 18);
  const auto nobody = log.configure(AccessFormat::combined, path("p"));
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().os_error, ENXIO);
  const util::UniqueFd reader(::open(path("p").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader);
  ASSERT_TRUE(log.configure(AccessFormat::combined, path("p")));
  auto& one = log.add_ring();
  auto& two = log.add_ring();
  const std::string target(900, 'x');
  for (int i = 0; i < 100; ++i) {  // more than the pipe holds
    one.write(record("/1" + target));
    two.write(record("/2" + target));
  }
  std::string got;
  std::vector<char> room(5000);
  while (std::count(got.begin(), got.end(), '\n') < 200) {
    const ssize_t n = ::read(reader.get(), room.data(), room.size());
    ASSERT_TRUE(n > 0 || (n < 0 && errno == EAGAIN));
    if (n > 0) {
      got.append(room.data(), static_cast<std::size_t>(n));
    } else {
      log.flush();
    }
  }
  std::istringstream in(got);
  for (std::string line; std::getline(in, line);) {
    ASSERT_TRUE(line.starts_with("c - - [")) << line;
    ASSERT_TRUE(line.ends_with("\"-\" \"-\"")) << line;
  }
  EXPECT_EQ(log.dropped(), 0U);
}

TEST(AccessRing, CountsWhatFindsNoRoomAndKeepsLinesWhole) {
  const std::atomic<AccessFormat> format{AccessFormat::combined};
  AccessRing ring(format, -1, 1000);
  std::string got;
  std::uint64_t written = 0;
  for (int round = 0; round < 200; ++round) {
    const std::string target(static_cast<std::size_t>(round % 90), 'x');
    for (int i = 0; i < 12; ++i, ++written)
      ring.write({.client = "c", .method = "GET", .target = target, .status = 200});
    std::array<iovec, 2> pieces{};
    std::size_t all = 0;
    const std::size_t count = ring.readable(pieces);
    for (std::size_t i = 0; i < count; ++i) {
      got.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
      all += pieces[i].iov_len;
    }
    EXPECT_LE(all, 1000U);
    ring.consume(all);
  }
  std::istringstream in(got);
  std::uint64_t lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    ASSERT_TRUE(line.starts_with("c - - [") && line.ends_with("\"-\" \"-\"")) << line;
  }
  EXPECT_GT(ring.dropped(), 0U);
  EXPECT_EQ(lines + ring.dropped(), written);
}

}  // namespace
}  // namespace pontage::observe
