// Buffers of one worker: chunks of 16 KiB cut from slabs. A session or connection holds a chunk only while bytes are in
// it, so the pool is as large as the work in progress and the same few chunks stay in the CPU's cache. Slabs that a
// whole interval did without go back to the kernel; at once they would be faulted in again by the next burst. The
// worker's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace pontage::net {

class ChunkPool;

// One chunk, given back when destroyed. Move-only.
class Chunk {
 public:
  Chunk() noexcept = default;
  Chunk(Chunk&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), memory_(std::exchange(other.memory_, nullptr)) {}
  Chunk& operator=(Chunk&& other) noexcept {
    if (this != &other) {
      reset();
      pool_ = std::exchange(other.pool_, nullptr);
      memory_ = std::exchange(other.memory_, nullptr);
    }
    return *this;
  }
  ~Chunk() { reset(); }

  explicit operator bool() const noexcept { return memory_ != nullptr; }
  char* data() const noexcept { return memory_; }
  std::span<char> span() const noexcept;
  void reset() noexcept;

 private:
  friend class ChunkPool;
  Chunk(ChunkPool& pool, char* memory) noexcept : pool_(&pool), memory_(memory) {}
  ChunkPool* pool_ = nullptr;
  char* memory_ = nullptr;
};

class ChunkPool {
 public:
  static constexpr std::size_t kChunk = 16 * 1024;

  // `limit` bounds the memory in chunks, in bytes.
  explicit ChunkPool(std::size_t limit = std::size_t{1} << 30) noexcept : limit_(limit) {}
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;
  ~ChunkPool();

  // An empty Chunk when the limit is reached or the kernel gives no memory: the caller sheds load.
  Chunk take() noexcept;
  std::size_t bytes_mapped() const noexcept { return mapped_; }
  // Gives back empty slabs beyond what was needed since the last call. The reactor calls it about once a second.
  void trim() noexcept;

 private:
  friend class Chunk;
  struct Node {
    Node* next;
  };
  // A slab starts with its header, in the place of its first chunk.
  struct Slab {
    Node* free = nullptr;
    std::uint32_t used = 0;
    Slab* next = nullptr;  // in the list of slabs with free chunks
    Slab* previous = nullptr;
  };
  static constexpr std::size_t kSlab = 512 * 1024;
  static constexpr std::uint32_t kChunksPerSlab = kSlab / kChunk - 1;
  static constexpr std::uint32_t kKeepFree = kChunksPerSlab;  // chunks kept in any case

  Slab* new_slab() noexcept;
  void give_back(char* memory) noexcept;
  void link(Slab& slab) noexcept;
  void unlink(Slab& slab) noexcept;
  void unmap(Slab& slab) noexcept;

  Slab* available_ = nullptr;
  std::size_t limit_;
  std::size_t mapped_ = 0;
  std::uint32_t free_ = 0;
  std::uint32_t least_free_ = 0;  // since the last trim()
};

inline std::span<char> Chunk::span() const noexcept {
  return memory_ == nullptr ? std::span<char>{} : std::span<char>{memory_, ChunkPool::kChunk};
}
inline void Chunk::reset() noexcept {
  if (memory_ != nullptr) pool_->give_back(memory_);
  memory_ = nullptr;
  pool_ = nullptr;
}

}  // namespace pontage::net
