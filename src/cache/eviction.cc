#include "src/cache/eviction.h"

namespace pontage::cache {
namespace {

constexpr std::uint64_t kNewcomersShare = 10;  // one part in ten

std::uint32_t fingerprint(std::uint64_t hash) noexcept {
  return static_cast<std::uint32_t>(hash >> 32) | 1U;
}

}  // namespace

void EvictionQueue::add(FileEntry& entry) noexcept {
  auto& book = entry.cache;
  auto& memory = left_[book.hash % kRemembered];
  book.touched = false;
  book.proven = memory == fingerprint(book.hash);
  if (book.proven) {
    memory = 0;
    proven_.push_back(entry);
    proven_cost_ += book.cost;
  } else {
    new_.push_back(entry);
    new_cost_ += book.cost;
  }
}

void EvictionQueue::remove(FileEntry& entry) noexcept {
  entry.unlink();
  (entry.cache.proven ? proven_cost_ : new_cost_) -= entry.cache.cost;
}

FileEntry* EvictionQueue::victim() noexcept {
  while (cost() > budget_) {
    const bool crowded = new_cost_ > budget_ / kNewcomersShare;
    FileEntry* gone = crowded || proven_.empty() ? from_newcomers() : from_proven();
    if (gone != nullptr) return gone;
  }
  return nullptr;
}

// One step: the oldest newcomer leaves, or moves on because somebody asked for it. Each step empties the queue a
// little, so it ends.
FileEntry* EvictionQueue::from_newcomers() noexcept {
  FileEntry* oldest = new_.front();
  auto& book = oldest->cache;
  remove(*oldest);
  if (!book.touched) {
    left_[book.hash % kRemembered] = fingerprint(book.hash);
    return oldest;
  }
  book.touched = false;
  book.proven = true;
  proven_.push_back(*oldest);
  proven_cost_ += book.cost;
  return nullptr;
}

// One step: the oldest leaves, or begins a second round because somebody asked for it in the last one.
FileEntry* EvictionQueue::from_proven() noexcept {
  FileEntry* oldest = proven_.front();
  auto& book = oldest->cache;
  if (book.touched) {
    book.touched = false;
    oldest->unlink();
    proven_.push_back(*oldest);
    return nullptr;
  }
  remove(*oldest);
  return oldest;
}

}  // namespace pontage::cache
