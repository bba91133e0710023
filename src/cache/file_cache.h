// The file cache that all workers share: what files:-routes found out about names lately (file_entry.h). Sharded; a hit
// is one hash look-up under a short lock, one count and one comparison of times, no system call. Memory and descriptors
// have budgets. Owned by the gateway, outlives the workers and the blocking pool; any thread. Time is an argument
// (milliseconds of a monotonic clock), so that tests choose it.
//
// An entry ends being fresh in two ways: its window passes (others are served on while one looks), or somebody who saw
// the file change expires it (nobody gets it as fresh any more; watcher.h). A look at a file that began before such a
// change and reports after it must not make old bytes fresh again: whoever looks takes epoch(root) first and hands it
// to insert() or renew().
//
// A path may carry a NUL and a content coding ("a.js\0gzip"): an encoded variant, which expires with its file.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "protocols/message/content_coding.h"
#include "src/cache/eviction.h"
#include "src/cache/file_entry.h"
#include "src/config/config.h"

namespace pontage::cache {

// Counted for an entry with a descriptor, at least: the kernel's part of an open file. An eighth of the memory budget
// is for those.
inline constexpr std::uint64_t kDescriptorCost = 1024;

enum class Freshness : std::uint8_t {
  absent,
  fresh,    // to be trusted without a look at the file
  expired,  // to be compared with the file (load.h refresh)
};

struct Found {
  EntryRef entry;  // unless absent
  Freshness freshness = Freshness::absent;
};

class FileCache {
 public:
  // `descriptors`: how many may be kept open; by default a quarter of the soft limit of the process.
  explicit FileCache(const config::Config::StaticCache& limits, std::uint64_t descriptors = default_descriptors());
  FileCache(const FileCache&) = delete;
  FileCache& operator=(const FileCache&) = delete;
  ~FileCache();

  // Of a root: changes whenever anything of it is expired (of a few other roots, too). Never kAnyEpoch.
  static constexpr std::uint64_t kAnyEpoch = ~std::uint64_t{0};
  std::uint64_t epoch(std::uint32_t root) const noexcept {
    return epochs_[root % kEpochs].load(std::memory_order_acquire);
  }

  // What is known about `path` (decoded) below root `root`. While one caller compares an expired entry with its file,
  // the others get it as fresh for one more window at most; an entry nobody asked for meanwhile is never served unseen.
  Found find(std::uint32_t root, std::string_view path, std::uint64_t now_ms) noexcept;
  // What is known and within its window; empty otherwise. Changes nothing: for a look that waited for its turn, to see
  // whether another one has done its work meanwhile.
  EntryRef current(std::uint32_t root, std::string_view path, std::uint64_t now_ms) const noexcept;
  // Puts `entry` in the place of whatever was known about its path; good for one window from `now_ms`. Files above
  // max_file are not kept. False when it was not kept; the caller's reference serves all the same. When its root has
  // left `epoch` meanwhile, it is expired from the start.
  bool insert(const EntryRef& entry, std::uint64_t now_ms, std::uint64_t epoch = kAnyEpoch);
  // The file still is what `entry` says: good for another window, unless its root has left `epoch` meanwhile.
  void renew(const FileEntry& entry, std::uint64_t now_ms, std::uint64_t epoch = kAnyEpoch) const noexcept;

  // The file or the lack of it at `path` has changed: its entry and its variants are expired; where `path` looks like a
  // precompressed "a.js.gz", that variant of "a.js", too. Four short locks.
  void expire(std::uint32_t root, std::string_view path);
  // As if everything below `directory` (but not its own entry) had changed; "" is the root. Walks all entries, shard by
  // shard: milliseconds when there are many.
  void expire_below(std::uint32_t root, std::string_view directory);
  void expire_root(std::uint32_t root) { expire_below(root, {}); }
  // Nobody will ask for this root again: its entries leave. Walks all entries. A look that is still under way may
  // insert one more, which goes the way of all that nobody asks for.
  void remove_root(std::uint32_t root);
  // True when the descriptor's file was not looked at lately (and marks it looked at): bytes sent from a descriptor are
  // the file's of now, so it is compared with the head oftener than the name (load.h same_bytes).
  static bool due_for_look(const FileEntry& entry, std::uint64_t now_ms) noexcept;

  std::uint64_t max_file() const noexcept { return max_file_; }  // bytes
  std::uint64_t memory_used() const;
  std::uint64_t descriptors_used() const;
  std::size_t entries() const;

  static std::uint64_t default_descriptors() noexcept;

 private:
  struct Key {
    std::uint64_t hash;
    std::uint32_t root;
    std::string_view path;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const Key& key) const noexcept { return key.hash; }
    std::size_t operator()(const EntryRef& entry) const noexcept { return entry->cache.hash; }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const EntryRef& a, const EntryRef& b) const noexcept { return a.get() == b.get(); }
    bool operator()(const Key& key, const EntryRef& entry) const noexcept {
      return key.root == entry->root() && key.path == entry->path();
    }
    bool operator()(const EntryRef& entry, const Key& key) const noexcept { return (*this)(key, entry); }
  };
  struct alignas(64) Shard {
    Shard(std::uint64_t memory, std::uint64_t descriptor_memory) noexcept
        : in_memory(memory), on_disk(descriptor_memory) {}
    EvictionQueue& queue_of(const FileEntry& entry) noexcept { return entry.in_memory() ? in_memory : on_disk; }

    mutable std::mutex lock;
    std::unordered_set<EntryRef, Hash, Equal> table;
    EvictionQueue in_memory;
    EvictionQueue on_disk;
    std::uint64_t descriptors = 0;
  };

  Key key_of(std::uint32_t root, std::string_view path) const noexcept;
  Shard& shard_of(std::uint64_t hash) const noexcept { return *shards_[(hash >> 48) & (shards_.size() - 1)]; }
  std::uint64_t window_of(const FileEntry& entry) const noexcept;
  bool has_left(std::uint32_t root, std::uint64_t epoch) const noexcept {
    return epoch != kAnyEpoch && epoch != this->epoch(root);
  }
  void leave_epoch(std::uint32_t root) noexcept { epochs_[root % kEpochs].fetch_add(1, std::memory_order_acq_rel); }
  void expire_name(std::uint32_t root, std::string_view path) noexcept;
  void expire_variant(std::uint32_t root, std::string_view path, message::ContentCoding coding);
  static void take_out(Shard& shard, FileEntry& entry, std::vector<EntryRef>& gone);

  static constexpr std::size_t kEpochs = 64;  // shared by roots of the same remainder

  std::vector<std::unique_ptr<Shard>> shards_;  // a power of two
  std::array<std::atomic<std::uint64_t>, kEpochs> epochs_{};
  std::uint64_t max_file_;
  std::uint64_t window_ms_;
  std::uint64_t seed_;
};

}  // namespace pontage::cache
