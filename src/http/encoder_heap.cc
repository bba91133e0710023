#include "src/http/encoder_heap.h"

#include <cstdlib>
#include <new>

namespace pontage::http {

// A block may be an eighth larger than asked for: what brotli asks for differs a little from stream to stream.
EncoderHeap::Block* EncoderHeap::take_kept(std::size_t size) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    Block* block = kept_[i];
    if (block->size < size || block->size > size + size / 8) continue;
    kept_[i] = kept_[--count_];
    idle_ -= block->size;
    return block;
  }
  return nullptr;
}

void* EncoderHeap::allocate(std::size_t bytes) noexcept {
  const std::size_t size = bytes + sizeof(Block);
  if (size < bytes) return nullptr;
  Block* block = size >= kWorthKeeping ? take_kept(size) : nullptr;
  if (block == nullptr) {
    trim(limit_ > size ? limit_ - size : 0);
    void* memory = std::malloc(size);
    if (memory == nullptr) return nullptr;
    block = new (memory) Block{size};
  }
  used_ += block->size;
  return block + 1;
}

void EncoderHeap::free(void* memory) noexcept {
  if (memory == nullptr) return;
  Block* block = static_cast<Block*>(memory) - 1;
  used_ -= block->size;
  if (block->size < kWorthKeeping || count_ == kKept || held() + block->size > limit_) {
    std::free(block);
    return;
  }
  idle_ += block->size;
  kept_[count_++] = block;
}

void EncoderHeap::trim(std::size_t most) noexcept {
  while (count_ > 0 && held() > most) {
    Block* block = kept_[--count_];
    idle_ -= block->size;
    std::free(block);
  }
}

}  // namespace pontage::http
