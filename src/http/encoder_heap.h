// The memory of one encoder, for libraries that ask a function of ours for it. It counts, and it keeps large blocks
// that were given back for the next stream: libbrotli cannot reset an encoder, only make a new one. Owned by the
// encoder, used on its thread.
#pragma once

#include <array>
#include <cstddef>

namespace pontage::http {

class EncoderHeap {
 public:
  EncoderHeap() = default;
  EncoderHeap(const EncoderHeap&) = delete;
  EncoderHeap& operator=(const EncoderHeap&) = delete;
  ~EncoderHeap() { trim(0); }

  // At most that many bytes lie idle in blocks kept, less what is in use.
  void set_limit(std::size_t bytes) noexcept { limit_ = bytes; }
  // nullptr: no memory. Aligned for everything.
  void* allocate(std::size_t bytes) noexcept;
  void free(void* block) noexcept;
  // Bytes in use and kept.
  std::size_t held() const noexcept { return used_ + idle_; }

  // For brotli_alloc_func, alloc_func and their counterparts; `heap` is an EncoderHeap.
  static void* allocate_for(void* heap, std::size_t bytes) { return static_cast<EncoderHeap*>(heap)->allocate(bytes); }
  static void free_for(void* heap, void* block) { static_cast<EncoderHeap*>(heap)->free(block); }

 private:
  static constexpr std::size_t kKept = 16;                // blocks
  static constexpr std::size_t kWorthKeeping = 32 << 10;  // smaller ones are malloc's business

  struct alignas(std::max_align_t) Block {
    std::size_t size;  // with this header
  };
  Block* take_kept(std::size_t size) noexcept;
  // Gives back idle blocks until `most` bytes or less are held.
  void trim(std::size_t most) noexcept;

  std::array<Block*, kKept> kept_{};
  std::size_t count_ = 0;
  std::size_t limit_ = 0;
  std::size_t used_ = 0;
  std::size_t idle_ = 0;
};

}  // namespace pontage::http
