// What the cache really takes: the budget is about bytes of the process, and descriptors come back.
#include <filesystem>
#include <functional>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "src/cache/file_cache.h"

namespace pontage::cache {
namespace {

constexpr std::uint64_t kBudget = 16 << 20;

std::size_t allocated() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

// The sanitizers' allocators do not count for us.
bool counts_allocations() {
  const std::size_t before = allocated();
  const std::string probe(100'000, 'x');
  return allocated() >= before + probe.size();
}

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

EntryRef entry(int number, FileKind kind, std::size_t body) {
  FileEntry::Parts parts;
  const std::string path = "some/directory/like/others/file-" + std::to_string(number) + ".html";
  parts.root = 1;
  parts.path = path;
  parts.kind = kind;
  parts.stamp.size = body;
  parts.stamp.modified_ns = 1'700'000'000'000'000'000;
  parts.body = body;
  return FileEntry::make(std::move(parts));
}

EntryRef opened(int number) {
  FileEntry::Parts parts;
  const std::string path = "large-" + std::to_string(number);
  parts.root = 1;
  parts.path = path;
  parts.kind = FileKind::file;
  parts.stamp.size = 100'000;
  parts.file = util::UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return FileEntry::make(std::move(parts));
}

// Bytes that 100 000 offered entries leave allocated.
std::size_t footprint(const std::function<EntryRef(int)>& make) {
  const std::size_t before = allocated();
  FileCache files{config::Config::StaticCache{.memory = kBudget}, 256};
  for (int i = 0; i < 100'000; ++i) files.insert(make(i), 0);
  EXPECT_LE(files.memory_used(), kBudget);
  EXPECT_GT(files.memory_used(), kBudget / 2);
  return allocated() - before;
}

class Footprint : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!counts_allocations()) GTEST_SKIP() << "this allocator is not counted";
  }
};

TEST_F(Footprint, OfSmallFilesIsTheBudget) {
  for (const std::size_t size : {0, 100, 700, 3000}) {
    const std::size_t bytes = footprint([size](int i) { return entry(i, FileKind::file, size); });
    EXPECT_LE(bytes, kBudget * 115 / 100) << size;
  }
}

TEST_F(Footprint, OfNamesThatAreMissingIsTheBudget) {
  const std::size_t bytes = footprint([](int i) { return entry(i, FileKind::missing, 0); });
  EXPECT_LE(bytes, kBudget * 115 / 100);
}

TEST(Descriptors, ComeBackWhicheverWayTheirEntriesLeave) {
  const auto before = open_descriptors();
  {
    FileCache files{config::Config::StaticCache{.memory = kBudget}, 64};
    for (int i = 0; i < 1000; ++i) files.insert(opened(i), 0);                                  // evicted
    for (int i = 0; i < 1000; ++i) files.insert(opened(i % 10), 0);                             // replaced
    EXPECT_FALSE(FileCache(config::Config::StaticCache{.max_file = 10}).insert(opened(1), 0));  // refused
    EXPECT_EQ(open_descriptors(), before + static_cast<std::ptrdiff_t>(files.descriptors_used()));
    EXPECT_LE(files.descriptors_used(), 64U);
    EXPECT_GT(files.descriptors_used(), 0U);
    const Found used = files.find(1, "large-1", 0);
    files.remove_root(1);
    EXPECT_EQ(files.descriptors_used(), 0U);
    EXPECT_EQ(open_descriptors(), before + 1) << "the one in use";
    for (int i = 0; i < 10; ++i) files.insert(opened(i), 0);
  }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace pontage::cache
