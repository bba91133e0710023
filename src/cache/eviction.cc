#include "src/cache/eviction.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace pontage::cache {
namespace {

constexpr std::uint64_t kNewcomersShare = 10;  // one part in ten
constexpr std::size_t kFewestNames = 64;
constexpr std::size_t kMostNames = 1 << 20;

// 0 stands for an empty place.
std::uint32_t fingerprint(std::uint64_t hash) noexcept {
  return std::max<std::uint32_t>(static_cast<std::uint32_t>(hash), 1);
}

}  // namespace

void DepartedNames::grow_to(std::size_t names) noexcept {
  if (names <= count_ * kRow || count_ * kRow >= kMostNames) return;
  const std::size_t count = std::bit_ceil(std::max(names, kFewestNames)) / kRow;
  std::unique_ptr<Row[]> rows(new (std::nothrow) Row[count]());
  if (rows == nullptr) return;
  std::swap(rows, rows_);
  const std::size_t before = std::exchange(count_, count);
  for (std::size_t i = 0; i < before; ++i) {
    for (std::size_t j = kRow; j-- > 0;) {
      if (rows[i][j] != 0) remember(rows[i][j]);
    }
  }
}

void DepartedNames::remember(std::uint64_t hash) noexcept {
  if (count_ == 0) return;
  const std::uint32_t print = fingerprint(hash);
  Row& row = rows_[print & (count_ - 1)];
  std::move_backward(row.begin(), row.end() - 1, row.end());
  row[0] = print;
}

bool DepartedNames::take(std::uint64_t hash) noexcept {
  if (count_ == 0) return false;
  const std::uint32_t print = fingerprint(hash);
  Row& row = rows_[print & (count_ - 1)];
  const auto at = std::find(row.begin(), row.end(), print);
  if (at == row.end()) return false;
  std::move(at + 1, row.end(), at);
  row.back() = 0;
  return true;
}

void EvictionQueue::add(FileEntry& entry) noexcept {
  auto& book = entry.cache;
  departed_.grow_to(++entries_);
  book.touched = Uses{};
  if (departed_.take(book.hash)) {
    prove(entry);
    return;
  }
  book.proven = false;
  new_.push_back(entry);
  new_cost_ += book.cost;
}

void EvictionQueue::remove(FileEntry& entry) noexcept {
  entry.unlink();
  (entry.cache.proven ? proven_cost_ : new_cost_) -= entry.cache.cost;
  --entries_;
}

FileEntry* EvictionQueue::victim() noexcept {
  while (cost() > budget_) {
    const bool crowded = new_cost_ > budget_ / kNewcomersShare;
    FileEntry* gone = crowded || proven_.empty() ? from_newcomers() : from_proven();
    if (gone != nullptr) return gone;
  }
  return nullptr;
}

void EvictionQueue::prove(FileEntry& entry) noexcept {
  entry.cache.proven = true;
  proven_.push_back(entry);
  proven_cost_ += entry.cache.cost;
}

// One step: the oldest newcomer leaves, or moves on because somebody asked for it. Each step empties the queue a
// little, so it ends.
FileEntry* EvictionQueue::from_newcomers() noexcept {
  FileEntry* oldest = new_.front();
  auto& book = oldest->cache;
  if (book.touched == Uses{}) {
    remove(*oldest);
    departed_.remember(book.hash);
    return oldest;
  }
  oldest->unlink();
  new_cost_ -= book.cost;
  book.touched = Uses{};
  prove(*oldest);
  return nullptr;
}

// One step: the oldest leaves, or begins another round because somebody asked for it. Each round takes one from its
// count, so it ends.
FileEntry* EvictionQueue::from_proven() noexcept {
  FileEntry* oldest = proven_.front();
  auto& book = oldest->cache;
  if (book.touched != Uses{}) {
    book.touched = static_cast<Uses>(book.touched - 1);
    oldest->unlink();
    proven_.push_back(*oldest);
    return nullptr;
  }
  remove(*oldest);
  return oldest;
}

}  // namespace pontage::cache
