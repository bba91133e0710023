// Who leaves when a part of the cache is full. Two queues: newcomers, and those that were asked for again; a newcomer
// nobody asked for again goes first, so a scan or a flood of missing names passes through a tenth of the room (the idea
// of S3-FIFO; PERF.md 4). A hit only counts, up to three at most; nothing moves in a list. Names that left the
// newcomers lately are remembered by hash, as many as there are entries; when they return they are believed at once.
// Owned by a shard of FileCache, under its lock. tests/unit/cache/eviction_simulator_test.cc compares it with LRU and
// the optimum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "src/cache/file_entry.h"
#include "src/util/intrusive_list.h"

namespace pontage::cache {

// Hashes of names that left, in rows of four whose oldest makes way. Grows with the queue: 4 to 8 bytes an entry.
class DepartedNames {
 public:
  // Room for that many; without memory for them it stays as it is.
  void grow_to(std::size_t names) noexcept;
  void remember(std::uint64_t hash) noexcept;
  // True when it was remembered, and no longer is.
  bool take(std::uint64_t hash) noexcept;

 private:
  static constexpr std::size_t kRow = 4;
  using Row = std::array<std::uint32_t, kRow>;  // newest first; 0: none
  std::unique_ptr<Row[]> rows_;
  std::size_t count_ = 0;  // of rows: a power of two, or none yet
};

class EvictionQueue {
 public:
  explicit EvictionQueue(std::uint64_t budget) noexcept : budget_(budget) {}

  // `entry.cache.cost` and `.hash` are set and stay as they are until it leaves.
  void add(FileEntry& entry) noexcept;
  void remove(FileEntry& entry) noexcept;
  // Somebody asked for an entry that is in a queue.
  static void touch(const FileEntry& entry) noexcept {
    const std::uint8_t uses = entry.cache.touched;
    if (uses < kMostUses) entry.cache.touched = static_cast<Uses>(uses + 1);
  }
  // The entry that has to leave because the costs exceed the budget, already removed; nullptr when they do not.
  FileEntry* victim() noexcept;

  std::uint64_t budget() const noexcept { return budget_; }
  std::uint64_t cost() const noexcept { return new_cost_ + proven_cost_; }

 private:
  // How often it was touched since its last turn; as far as the entry has room to count.
  using Uses = decltype(FileEntry::Bookkeeping::touched);
  static constexpr std::uint8_t kMostUses = 3;

  void prove(FileEntry& entry) noexcept;
  FileEntry* from_newcomers() noexcept;
  FileEntry* from_proven() noexcept;

  util::IntrusiveList<FileEntry> new_;
  util::IntrusiveList<FileEntry> proven_;
  std::uint64_t budget_;
  std::uint64_t new_cost_ = 0;
  std::uint64_t proven_cost_ = 0;
  std::size_t entries_ = 0;
  DepartedNames departed_;
};

}  // namespace pontage::cache
