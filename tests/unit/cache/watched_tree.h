// A tree of files with a cache and a watcher over it, for tests of what they see. One thread, but for what a test
// starts.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <poll.h>

#include "src/cache/load.h"
#include "src/cache/watcher.h"
#include "tests/unit/cache/temp_tree.h"

namespace pontage::cache {

namespace fs = std::filesystem;

inline constexpr std::uint64_t kNow = 1000;
inline const config::Config::StaticCache kLimits{.recheck = config::Millis(3'600'000)};

inline FileRoot root_at(std::uint32_t id, const std::string& directory) {
  FileRoot root;
  root.id = id;
  root.directory = directory;
  return root;
}

// What is at a path now; nullopt: no file.
inline std::optional<std::string> content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || fs::is_directory(path)) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline EntryRef entry_of(const FileRoot& root, std::string_view path) {
  const auto bytes = content(root.directory + "/" + std::string(path.substr(0, path.find('\0'))));
  FileEntry::Parts parts;
  parts.root = root.id;
  parts.path = path;
  parts.kind = bytes ? FileKind::file : FileKind::missing;
  parts.body = bytes ? bytes->size() : 0;
  EntryRef entry = FileEntry::make(std::move(parts));
  if (bytes) std::memcpy(entry.get()->body_room().data(), bytes->data(), bytes->size());
  return entry;
}

class WatchedTree : public ::testing::Test {
 protected:
  WatchedTree() {
    tree.write("root/a/b/f", "old");
    tree.write("root/a/b/other", "other");
    tree.write("root/top", "top");
  }
  // In the order that watcher.h asks for.
  void load(std::string_view path) { load(root, path); }
  void load(const FileRoot& from, std::string_view path) {
    const std::uint64_t epoch = files.epoch(from.id);
    watcher.watch(from, path);
    files.insert(entry_of(from, path), kNow, epoch);
  }
  Freshness state(std::string_view path, std::uint32_t id = 7) { return files.find(id, path, kNow).freshness; }
  // Waits for events until the entry is expired.
  bool sees_change(std::string_view path, std::uint32_t id = 7) {
    while (state(path, id) != Freshness::expired) {
      pollfd readable{watcher.descriptor(), POLLIN, 0};
      if (::poll(&readable, 1, 10'000) <= 0) return false;
      watcher.drain(files);
    }
    return true;
  }
  bool stays(std::string_view path, std::uint32_t id = 7) {
    watcher.drain(files);  // events are there when the call that makes them returns
    return state(path, id) == Freshness::fresh;
  }

  testing::TempTree tree;
  FileRoot root = root_at(7, tree.at("root"));
  FileCache files{kLimits};
  Watcher watcher;
};

}  // namespace pontage::cache
