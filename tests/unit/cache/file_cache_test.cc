// Budgets, eviction, windows and sharing of the file cache.
#include "src/cache/file_cache.h"

#include <thread>

#include <gtest/gtest.h>

#include "tests/unit/cache/temp_tree.h"

namespace pontage::cache {
namespace {

using Limits = config::Config::StaticCache;

EntryRef small_file(const std::string& path, std::size_t size, std::uint32_t root = 1) {
  FileEntry::Parts parts;
  parts.root = root;
  parts.path = path;
  parts.kind = FileKind::file;
  parts.stamp.size = size;
  parts.body = size;
  return FileEntry::make(std::move(parts));
}

EntryRef open_file(const std::string& path) {
  FileEntry::Parts parts;
  parts.root = 1;
  parts.path = path;
  parts.kind = FileKind::file;
  parts.stamp.size = 100'000;
  parts.file = util::UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return FileEntry::make(std::move(parts));
}

TEST(FileCache, KeepsNamesOfDifferentRootsApart) {
  FileCache files{Limits{}};
  const EntryRef one = small_file("a", 1, 1);
  const EntryRef two = small_file("a", 2, 2);
  EXPECT_TRUE(files.insert(one, 0));
  EXPECT_TRUE(files.insert(two, 0));
  EXPECT_EQ(files.find(1, "a", 1).entry.get(), one.get());
  EXPECT_EQ(files.find(2, "a", 1).entry.get(), two.get());
  EXPECT_EQ(files.find(3, "a", 1).freshness, Freshness::absent);
}

TEST(FileCache, KeepsWithinItsMemory) {
  FileCache files{Limits{.memory = 8 << 20}, 1000};
  for (int i = 0; i < 5000; ++i) files.insert(small_file("f" + std::to_string(i), 10'000), 0);
  EXPECT_LE(files.memory_used(), 8U << 20);
  EXPECT_GE(files.memory_used(), 6U << 20);
}

TEST(FileCache, KeepsWithinItsDescriptors) {
  FileCache files{Limits{}, 64};
  for (int i = 0; i < 500; ++i) files.insert(open_file("f" + std::to_string(i)), 0);
  EXPECT_LE(files.descriptors_used(), 64U);
  EXPECT_GE(files.descriptors_used(), 32U);
}

TEST(FileCache, WithoutMemoryKeepsNothing) {
  FileCache files{Limits{.memory = 0}};
  EXPECT_FALSE(files.insert(small_file("a", 1), 0));
  EXPECT_FALSE(files.insert(open_file("b"), 0));
  EXPECT_EQ(files.entries(), 0U);
}

TEST(FileCache, DoesNotKeepFilesAboveTheirLimit) {
  FileCache files{Limits{.max_file = 1000}};
  EXPECT_TRUE(files.insert(small_file("a", 1000), 0));
  EXPECT_FALSE(files.insert(small_file("a", 1001), 0));
  EXPECT_EQ(files.find(1, "a", 1).freshness, Freshness::absent) << "nor what was known before";
}

TEST(FileCache, WhatIsAskedForAgainSurvivesAFloodOfOthers) {
  FileCache files{Limits{.memory = 256 << 10}, 16};
  for (int i = 0; i < 8; ++i) files.insert(small_file("hot" + std::to_string(i), 1000), 0);
  for (int i = 0; i < 5000; ++i) {
    for (int hot = 0; hot < 8; ++hot) files.find(1, "hot" + std::to_string(hot), 0);
    files.insert(small_file("cold" + std::to_string(i), 1000), 0);
  }
  for (int i = 0; i < 8; ++i) EXPECT_EQ(files.find(1, "hot" + std::to_string(i), 0).freshness, Freshness::fresh);
}

TEST(FileCache, AnEntryInUseOutlivesItsEviction) {
  FileCache files{Limits{.memory = 128 << 10}, 0};
  const EntryRef used = small_file("used", 5000);
  files.insert(used, 0);
  for (int i = 0; i < 200; ++i) files.insert(small_file("f" + std::to_string(i), 5000), 0);
  EXPECT_EQ(files.find(1, "used", 0).freshness, Freshness::absent);
  EXPECT_EQ(used->body().size(), 5000U);
}

TEST(FileCache, OneCallerLooksWhileTheOthersGoOnForOneWindow) {
  FileCache files{Limits{}};
  files.insert(small_file("a", 1), 1000);
  EXPECT_EQ(files.find(1, "a", 1999).freshness, Freshness::fresh);
  EXPECT_EQ(files.find(1, "a", 2000).freshness, Freshness::expired);
  EXPECT_EQ(files.find(1, "a", 2000).freshness, Freshness::fresh);
  EXPECT_EQ(files.find(1, "a", 3000).freshness, Freshness::expired) << "the look has not come back";
}

TEST(FileCache, AnEntryNobodyAskedForIsNeverServedUnseen) {
  FileCache files{Limits{}};
  files.insert(small_file("a", 1), 1000);
  EXPECT_EQ(files.find(1, "a", 9000).freshness, Freshness::expired);
  EXPECT_EQ(files.find(1, "a", 9000).freshness, Freshness::expired);
}

TEST(FileCache, LacksAreTrustedForASecondAtMost) {
  FileCache files{Limits{.recheck = config::Millis(60'000)}};
  FileEntry::Parts parts;
  parts.root = 1;
  parts.path = "none";
  files.insert(FileEntry::make(std::move(parts)), 1000);
  files.insert(small_file("a", 1), 1000);
  EXPECT_EQ(files.find(1, "none", 1999).freshness, Freshness::fresh);
  EXPECT_EQ(files.find(1, "none", 2000).freshness, Freshness::expired);
  EXPECT_EQ(files.find(1, "a", 60'999).freshness, Freshness::fresh);
}

TEST(FileCache, WithoutAWindowEveryRequestLooks) {
  FileCache files{Limits{.recheck = config::Millis(0)}};
  files.insert(small_file("a", 1), 1000);
  EXPECT_EQ(files.find(1, "a", 1000).freshness, Freshness::expired);
  EXPECT_EQ(files.find(1, "a", 1000).freshness, Freshness::expired);
}

TEST(FileCache, NobodyGetsAnExpiredEntryAsFresh) {
  FileCache files{Limits{}};
  files.insert(small_file("a", 1), 1000);
  files.insert(small_file("b", 1), 1000);
  files.insert(small_file("a", 1, 2), 1000);
  files.expire(1, "a");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(files.find(1, "a", 1000).freshness, Freshness::expired);
  EXPECT_EQ(files.find(1, "b", 1000).freshness, Freshness::fresh);
  EXPECT_EQ(files.find(2, "a", 1000).freshness, Freshness::fresh) << "of another root";
  files.renew(*files.find(1, "a", 1000).entry, 1000);
  EXPECT_EQ(files.find(1, "a", 1999).freshness, Freshness::fresh);
}

TEST(FileCache, ExpiringWhatIsNotThereDoesNothing) {
  FileCache files{Limits{}};
  files.expire(1, "a");
  files.expire(1, {});
  files.expire_below(1, "a");
  files.remove_root(1);
  EXPECT_EQ(files.entries(), 0U);
}

TEST(FileCache, VariantsExpireWithTheirFile) {
  FileCache files{Limits{}};
  const std::string gzip("a.js\0gzip", 9), br("a.js\0br", 7), zstd("a.js\0zstd", 9), other("a.jsx\0br", 8);
  for (const auto& path : {std::string("a.js"), gzip, br, zstd, other}) files.insert(small_file(path, 1), 0);
  files.expire(1, "a.js");
  for (const auto& path : {gzip, br, zstd}) EXPECT_EQ(files.find(1, path, 0).freshness, Freshness::expired);
  EXPECT_EQ(files.find(1, other, 0).freshness, Freshness::fresh);
}

TEST(FileCache, PrecompressedFilesExpireTheVariantTheyAre) {
  FileCache files{Limits{}};
  const std::string gzip("a.js\0gzip", 9), br("a.js\0br", 7), zstd("a.js\0zstd", 9);
  for (const auto& path : {std::string("a.js"), gzip, br, zstd}) files.insert(small_file(path, 1), 0);
  files.expire(1, "a.js.gz");
  EXPECT_EQ(files.find(1, gzip, 0).freshness, Freshness::expired);
  EXPECT_EQ(files.find(1, br, 0).freshness, Freshness::fresh);
  EXPECT_EQ(files.find(1, "a.js", 0).freshness, Freshness::fresh);
  files.expire(1, "a.js.br");
  EXPECT_EQ(files.find(1, br, 0).freshness, Freshness::expired);
  files.expire(1, "a.js.zst");
  EXPECT_EQ(files.find(1, zstd, 0).freshness, Freshness::expired);
}

TEST(FileCache, ADirectoryExpiresWithEverythingBelowItOnly) {
  FileCache files{Limits{}};
  for (const auto* path : {"d", "d/a", "d/e/f/g", "dd/a", "d-/a", "a"}) files.insert(small_file(path, 1), 0);
  files.insert(small_file("d/a", 1, 2), 0);
  files.expire_below(1, "d");
  for (const auto* path : {"d/a", "d/e/f/g"}) EXPECT_EQ(files.find(1, path, 0).freshness, Freshness::expired) << path;
  for (const auto* path : {"d", "dd/a", "d-/a", "a"}) {
    EXPECT_EQ(files.find(1, path, 0).freshness, Freshness::fresh) << path;
  }
  files.expire_root(1);
  for (const auto* path : {"d", "dd/a", "a"}) EXPECT_EQ(files.find(1, path, 0).freshness, Freshness::expired) << path;
  EXPECT_EQ(files.find(2, "d/a", 0).freshness, Freshness::fresh);
}

TEST(FileCache, WhatWasLoadedInAnEarlierEpochIsBornExpired) {
  FileCache files{Limits{}};
  const std::uint64_t epoch = files.epoch(1);
  files.expire(1, "another");
  EXPECT_TRUE(files.insert(small_file("a", 1), 1000, epoch));
  EXPECT_EQ(files.find(1, "a", 1000).freshness, Freshness::expired);
  EXPECT_TRUE(files.insert(small_file("a", 1), 1000, files.epoch(1)));
  EXPECT_EQ(files.find(1, "a", 1000).freshness, Freshness::fresh);
  files.expire_root(2);
  EXPECT_TRUE(files.insert(small_file("b", 1), 1000, files.epoch(1))) << "another root's epochs are its own";
  EXPECT_EQ(files.find(1, "b", 1000).freshness, Freshness::fresh);
}

TEST(FileCache, ALookFromAnEarlierEpochRenewsNothingAndLetsTheNextOneLook) {
  FileCache files{Limits{}};
  files.insert(small_file("a", 1), 1000);
  const std::uint64_t epoch = files.epoch(1);
  const Found found = files.find(1, "a", 2000);
  ASSERT_EQ(found.freshness, Freshness::expired);
  files.expire(1, "another");
  files.renew(*found.entry, 2000, epoch);
  EXPECT_EQ(files.find(1, "a", 2000).freshness, Freshness::expired);
  files.renew(*found.entry, 2000, files.epoch(1));
  EXPECT_EQ(files.find(1, "a", 2000).freshness, Freshness::fresh);
}

TEST(FileCache, ARemovedRootLeavesNothing) {
  FileCache files{Limits{}};
  for (int i = 0; i < 100; ++i) {
    files.insert(small_file("f" + std::to_string(i), 100, 1), 0);
    files.insert(small_file("f" + std::to_string(i), 100, 2), 0);
    files.insert(open_file("o" + std::to_string(i)), 0);
  }
  files.remove_root(1);
  EXPECT_EQ(files.entries(), 100U);
  EXPECT_EQ(files.descriptors_used(), 0U);
  files.remove_root(2);
  EXPECT_EQ(files.memory_used(), 0U);
}

TEST(FileCache, ThreadsShareEntriesThatComeAndGo) {
  FileCache files{Limits{.memory = 64 << 10}, 16};
  const auto use = [&files](int offset) {
    for (int i = 0; i < 20'000; ++i) {
      const std::string path = "f" + std::to_string((i + offset) % 40);
      Found found = files.find(1, path, static_cast<std::uint64_t>(i));
      if (found.freshness == Freshness::absent) {
        files.insert(small_file(path, 2000), static_cast<std::uint64_t>(i));
      } else {
        ASSERT_EQ(found.entry->path(), path);
        files.renew(*found.entry, static_cast<std::uint64_t>(i));
      }
    }
  };
  std::thread other(use, 20);
  use(0);
  other.join();
  EXPECT_LE(files.memory_used(), 64U << 10);
}

}  // namespace
}  // namespace pontage::cache
