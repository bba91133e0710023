#include "src/net/chunk_pool.h"

#include <algorithm>
#include <new>

#include <sys/mman.h>

namespace pontage::net {

// Chunks that are still out when a worker ends belong to nothing that runs; their slabs end with the process.
ChunkPool::~ChunkPool() {
  for (Slab* slab = available_; slab != nullptr;) {
    Slab* next = slab->next;
    if (slab->used == 0) munmap(static_cast<void*>(slab), kSlab);
    slab = next;
  }
}

Chunk ChunkPool::take() noexcept {
  Slab* slab = available_;
  if (slab == nullptr) {
    slab = new_slab();
    if (slab == nullptr) return {};
  }
  Node* node = slab->free;
  slab->free = node->next;
  ++slab->used;
  --free_;
  least_free_ = std::min(least_free_, free_);
  if (slab->free == nullptr) unlink(*slab);
  return Chunk(*this, reinterpret_cast<char*>(node));
}

ChunkPool::Slab* ChunkPool::new_slab() noexcept {
  if (mapped_ + kSlab > limit_) return nullptr;
  // Mapped twice as large and trimmed, so that a chunk's slab is found by masking its address.
  void* const raw = mmap(nullptr, 2 * kSlab, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const auto start = reinterpret_cast<std::uintptr_t>(raw);
  const std::uintptr_t aligned = (start + kSlab - 1) & ~(kSlab - 1);
  if (aligned > start) munmap(raw, aligned - start);
  const std::uintptr_t end = start + 2 * kSlab;
  if (end > aligned + kSlab) munmap(reinterpret_cast<void*>(aligned + kSlab), end - aligned - kSlab);

  auto* slab = new (reinterpret_cast<void*>(aligned)) Slab;
  char* const memory = reinterpret_cast<char*>(aligned);
  for (std::size_t i = kChunksPerSlab; i >= 1; --i) slab->free = new (memory + i * kChunk) Node{slab->free};
  mapped_ += kSlab;
  free_ += kChunksPerSlab;
  link(*slab);
  return slab;
}

void ChunkPool::give_back(char* memory) noexcept {
  auto* slab = reinterpret_cast<Slab*>(reinterpret_cast<std::uintptr_t>(memory) & ~(kSlab - 1));
  const bool was_full = slab->free == nullptr;
  slab->free = new (memory) Node{slab->free};
  --slab->used;
  ++free_;
  if (was_full) link(*slab);
}

void ChunkPool::trim() noexcept {
  std::uint32_t spare = least_free_ > kKeepFree ? least_free_ - kKeepFree : 0;
  for (Slab* slab = available_; slab != nullptr && spare >= kChunksPerSlab;) {
    Slab* next = slab->next;
    if (slab->used == 0) {
      unmap(*slab);
      spare -= kChunksPerSlab;
    }
    slab = next;
  }
  least_free_ = free_;
}

void ChunkPool::unmap(Slab& slab) noexcept {
  unlink(slab);
  free_ -= kChunksPerSlab;
  mapped_ -= kSlab;
  munmap(static_cast<void*>(&slab), kSlab);
}

void ChunkPool::link(Slab& slab) noexcept {
  slab.previous = nullptr;
  slab.next = available_;
  if (available_ != nullptr) available_->previous = &slab;
  available_ = &slab;
}

void ChunkPool::unlink(Slab& slab) noexcept {
  if (slab.previous != nullptr) slab.previous->next = slab.next;
  if (slab.next != nullptr) slab.next->previous = slab.previous;
  if (available_ == &slab) available_ = slab.next;
  slab.next = slab.previous = nullptr;
}

}  // namespace pontage::net
