// The watcher at its limits: lost and torn events, no room, everybody at work at once.
#include <atomic>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <sys/inotify.h>

#include "tests/unit/cache/watched_tree.h"

namespace pontage::cache {
namespace {

using WatchLimits = WatchedTree;

TEST_F(WatchLimits, AChangeDuringALoadExpiresWhatItLoaded) {
  const std::uint64_t epoch = files.epoch(7);
  watcher.watch(root, "a/b/f");
  const EntryRef old = entry_of(root, "a/b/f");
  tree.replace("root/a/b/f", "new");
  watcher.drain(files);
  EXPECT_TRUE(files.insert(old, kNow, epoch));
  EXPECT_EQ(state("a/b/f"), Freshness::expired);
  files.renew(*old, kNow, epoch);
  EXPECT_EQ(state("a/b/f"), Freshness::expired);
}

TEST_F(WatchLimits, LostEventsExpireEverything) {
  load("a/b/f");
  load("top");
  ::inotify_event lost{};
  lost.wd = -1;
  lost.mask = IN_Q_OVERFLOW;
  watcher.process(std::as_bytes(std::span(&lost, 1)), files);
  EXPECT_EQ(state("a/b/f"), Freshness::expired);
  EXPECT_EQ(state("top"), Freshness::expired);
  EXPECT_EQ(watcher.counts().overflows, 1U);
  load("a/b/f");
  EXPECT_TRUE(stays("a/b/f"));
  tree.replace("root/a/b/f", "new");
  EXPECT_TRUE(sees_change("a/b/f"));
}

TEST_F(WatchLimits, TornEventsAreNotRead) {
  load("top");
  std::byte bytes[sizeof(::inotify_event) + 4]{};
  ::inotify_event event{};
  event.wd = 1;
  event.mask = IN_MODIFY;
  event.len = 400;
  std::memcpy(bytes, &event, sizeof event);
  for (std::size_t size = 0; size <= sizeof bytes; ++size) watcher.process(std::span(bytes).first(size), files);
  EXPECT_TRUE(stays("top"));
}

TEST_F(WatchLimits, AboveItsLimitTheWindowServes) {
  Watcher small(2);
  const auto name = [](int i) { return "d" + std::to_string(i) + "/f"; };
  for (int i = 0; i < 10; ++i) tree.write("root/" + name(i), "x");
  for (int i = 0; i < 10; ++i) {
    const std::string path = name(i);
    small.watch(root, path);
    files.insert(entry_of(root, path), kNow, files.epoch(7));
  }
  EXPECT_EQ(small.counts().watched, 2U);
  EXPECT_EQ(small.counts().unwatched, 2U) << "as many are remembered as may be watched";
  tree.replace("root/d0/f", "new");
  tree.replace("root/d9/f", "new");
  small.drain(files);
  EXPECT_EQ(state("d0/f"), Freshness::expired);
  EXPECT_EQ(state("d9/f"), Freshness::fresh);
  EXPECT_EQ(files.find(7, "d9/f", kNow + 3'600'000).freshness, Freshness::expired);
  small.forget(7);
  EXPECT_EQ(small.counts().unwatched, 0U);
  small.watch(root, "d9/f");
  EXPECT_EQ(small.counts().watched, 2U);
}

TEST_F(WatchLimits, NamesOfNothingTakeNoRoom) {
  for (int i = 0; i < 100; ++i) load("none" + std::to_string(i) + "/x/y");
  load(std::string(3000, '/') + "f");
  EXPECT_EQ(watcher.counts().watched, 1U);
  EXPECT_EQ(watcher.counts().unwatched, 0U);
}

// Whatever happens at once, in the end nothing is fresh that differs from its file.
TEST_F(WatchLimits, NothingOldStaysFreshWhileEverybodyIsAtWork) {
  const std::vector<std::string> paths{"a/b/f", "a/b/other", "top", "link/f", "a/b/none", "c/f"};
  tree.link("root/link", "a/b");
  std::atomic<bool> over{false};
  const auto loader = [&] {
    while (!over) {
      for (const auto& path : paths) {
        if (state(path) != Freshness::fresh) load(path);
      }
    }
  };
  std::thread one(loader);
  std::thread two(loader);
  std::thread changer([&] {
    for (int i = 0; i < 400; ++i) {
      const std::string bytes = "version " + std::to_string(i);
      std::error_code ignored;
      switch (i % 6) {
        case 0: tree.replace("root/a/b/f", bytes); break;
        case 1: std::ofstream(tree.at("root/top")) << bytes; break;
        case 2:
          tree.link("root/next", i % 4 == 0 ? "a/b" : "c");
          fs::rename(tree.at("root/next"), tree.at("root/link"));
          break;
        case 3: fs::rename(tree.at("root/a"), tree.at("root/c"), ignored); break;
        case 4: tree.write("root/a/b/other", bytes); break;
        default:
          tree.remove("root/c");
          tree.write("root/c/f", bytes);
          break;
      }
    }
    over = true;
  });
  while (!over) watcher.drain(files);
  one.join();
  two.join();
  changer.join();
  watcher.drain(files);
  for (const auto& path : paths) {
    const Found found = files.find(7, path, kNow);
    if (found.freshness != Freshness::fresh) continue;
    if (path == "link/f" && found.entry->kind() == FileKind::missing) continue;  // the link led nowhere
    const auto bytes = content(tree.at("root/" + path));
    EXPECT_EQ(found.entry->kind() == FileKind::file, bytes.has_value()) << path;
    EXPECT_EQ(found.entry->body(), bytes.value_or("")) << path;
  }
}

}  // namespace
}  // namespace pontage::cache
