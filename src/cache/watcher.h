// Sees files change: inotify watches on the directories that cached names lie in, with all directories above them up to
// their root, and on the links that lead to the root. Owned by the gateway; the control thread drains the descriptor
// when it is readable, the threads that load files call watch(), whoever ends a root calls forget(): any thread.
//
// It promises that a change is expired in the cache (file_cache.h) soon after its event, and nothing about changes that
// make no event: what is beyond the limit, on a network file system, written through a mapping, in a directory we may
// not read, or behind a link inside the tree: links to directories below the root are seen through while they lead
// somewhere, but the target of a link to a file is not watched, nor is what renames a directory above one outside.
// There the recheck window of the cache serves, as it does everywhere beside the watches.
//
// The order of a load, so that no change falls between its steps:
//   1. epoch = cache.epoch(root)    2. watcher.watch(root, path)    3. open, read or compare
//   4. cache.insert(entry, now, epoch) or cache.renew(entry, now, epoch)
// A change before 3 is read; one after 2 makes an event, which expires the entry after 4 or leaves the epoch before 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "src/cache/file_cache.h"
#include "src/cache/watch_table.h"
#include "src/util/unique_fd.h"

struct inotify_event;

namespace pontage::cache {

struct FileRoot;

class Watcher {
 public:
  static constexpr std::size_t kLimit = 8192;
  // `limit`: directories watched at most, of all roots together.
  explicit Watcher(std::size_t limit = kLimit);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Readable when drain() has something to do; never changes. -1 when the kernel gave none: nothing is watched.
  int descriptor() const noexcept { return inotify_.get(); }

  // Before something at `path` (relative to the root, as in the cache) is looked at. One look-up when its directory is
  // watched already, otherwise a few system calls that may wait for a disk: a thread of the blocking pool. What cannot
  // be watched is counted and left to the recheck window.
  void watch(const FileRoot& root, std::string_view path);
  // Never again events of this root; when nobody is left who might call watch() for it.
  void forget(std::uint32_t root);

  // Reads what has happened, at most a megabyte of it, and expires what it concerns. Control thread; never waits for a
  // disk. When the kernel lost events, everything watched is expired.
  void drain(FileCache& files);
  // The events of one read(2) of the descriptor.
  void process(std::span<const std::byte> events, FileCache& files);

  struct Counts {
    std::size_t watched = 0;    // directories
    std::size_t unwatched = 0;  // wanted, but refused by the kernel or by the limit; at least
    std::uint64_t overflows = 0;
  };
  Counts counts() const;

 private:
  enum class Step : std::uint8_t { done, again, stop };
  struct Batch;  // what is left to be expired at the end of process()

  bool watch_from_root(const FileRoot& root, std::string_view directory);
  bool knows(const FileRoot& root, std::string_view directory) const;
  Step watch_root(const FileRoot& root);
  Step watch_anchors(const FileRoot& root);
  Step watch_directory(const FileRoot& root, std::string_view directory);
  Step install(const std::string& kernel_path, std::uint32_t mask, const Watched& use, std::uint64_t before);
  std::uint64_t changes() const;
  void remove_unused(const std::vector<int>& watches) noexcept;

  void handle(const ::inotify_event& event, std::string_view name, Batch& batch);
  void handle_use(const Watched& use, std::uint32_t mask, std::string_view name, Batch& batch);
  void lose(const Watched& use, Batch& batch);

  util::UniqueFd inotify_;
  mutable std::mutex lock_;  // the table and the counts; a shard's lock may be taken inside, never the other way round
  WatchTable table_;
  std::uint64_t changes_ = 0;  // of the table by events; a watch made meanwhile may have missed one
  std::uint64_t overflows_ = 0;
};

}  // namespace pontage::cache
