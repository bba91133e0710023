// Who leaves when a part of the cache is full. Two queues: newcomers, and those that were asked for again; a newcomer
// nobody asked for again goes first, so a scan or a flood of missing names passes through a tenth of the room (the idea
// of S3-FIFO; PERF.md 4). A hit only sets `touched`. Names that left the newcomers lately are remembered by hash; when
// they return they are believed at once. Owned by a shard of FileCache, under its lock.
#pragma once

#include <array>
#include <cstdint>

#include "src/cache/file_entry.h"
#include "src/util/intrusive_list.h"

namespace pontage::cache {

class EvictionQueue {
 public:
  explicit EvictionQueue(std::uint64_t budget) noexcept : budget_(budget) {}

  // `entry.cache.cost` and `.hash` are set and stay as they are until it leaves.
  void add(FileEntry& entry) noexcept;
  void remove(FileEntry& entry) noexcept;
  // The entry that has to leave because the costs exceed the budget, already removed; nullptr when they do not.
  FileEntry* victim() noexcept;

  std::uint64_t budget() const noexcept { return budget_; }
  std::uint64_t cost() const noexcept { return new_cost_ + proven_cost_; }

 private:
  FileEntry* from_newcomers() noexcept;
  FileEntry* from_proven() noexcept;

  static constexpr std::size_t kRemembered = 256;

  util::IntrusiveList<FileEntry> new_;
  util::IntrusiveList<FileEntry> proven_;
  std::uint64_t budget_;
  std::uint64_t new_cost_ = 0;
  std::uint64_t proven_cost_ = 0;
  std::array<std::uint32_t, kRemembered> left_{};  // upper halves of hashes, by their low bits
};

}  // namespace pontage::cache
