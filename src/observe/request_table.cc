#include "src/observe/request_table.h"

#include <bit>
#include <new>

namespace pontage::observe {

RequestTable::RequestTable() {
  generations_[0] = std::make_unique<Slots>(std::make_unique<Slot[]>(kFirstSize), kFirstSize);
  current_.store(generations_[0].get(), std::memory_order_release);
}

// The slot that holds `packed`, or the free one where it belongs. The table is never full.
RequestTable::Slot& RequestTable::probe(const Slots& slots, std::uint64_t packed) noexcept {
  const int shift = 64 - std::countr_one(slots.mask);
  std::size_t i = static_cast<std::size_t>((packed * 0x9e3779b97f4a7c15ULL) >> shift);
  while (true) {
    const std::uint64_t there = slots.at[i].key.load(std::memory_order_relaxed);
    if (there == packed || there == 0) return slots.at[i];
    i = (i + 1) & slots.mask;
  }
}

void RequestTable::find(std::uint64_t packed) noexcept {
  Slot* slot = &probe(*generations_[generation_], packed);
  if (slot->key.load(std::memory_order_relaxed) == 0) {
    if (used_ >= kMaxKeys) {
      dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      packed &= ~kMethodAndCode;
      slot = &probe(*generations_[generation_], packed);
    }
    if (slot->key.load(std::memory_order_relaxed) == 0) {
      if ((used_ + 1) * 2 > generations_[generation_]->mask) {
        grow();
        slot = &probe(*generations_[generation_], packed);
      }
      // Without memory to grow it may get fuller, but never so full that a probe finds no end.
      if (used_ >= kMaxFolded || (used_ + 1) * 8 > generations_[generation_]->mask * 7) {
        last_key_ = 0;
        last_ = nullptr;
        return;
      }
      ++used_;
      slot->key.store(packed, std::memory_order_release);
    }
  }
  last_key_ = packed;
  last_ = &slot->count;
}

void RequestTable::grow() noexcept {
  if (generation_ == kGrowths) return;
  const Slots& old = *generations_[generation_];
  const std::size_t size = (old.mask + 1) * 2;
  std::unique_ptr<Slot[]> slots(new (std::nothrow) Slot[size]);
  if (!slots) return;
  std::unique_ptr<Slots> next(new (std::nothrow) Slots(std::move(slots), size));
  if (!next) return;
  for (std::size_t i = 0; i <= old.mask; ++i) {
    const std::uint64_t packed = old.at[i].key.load(std::memory_order_relaxed);
    if (packed == 0) continue;
    Slot& slot = probe(*next, packed);
    slot.key.store(packed, std::memory_order_relaxed);
    slot.count.store(old.at[i].count.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  generations_[++generation_] = std::move(next);
  current_.store(generations_[generation_].get(), std::memory_order_release);
}

}  // namespace pontage::observe
