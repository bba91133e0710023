// A part of a file in memory, for protocols that cannot hand a descriptor to the kernel: what is in the page cache is
// read at once, the rest by the blocking pool. Grows from one chunk to four as a range goes on. Owned by a stream;
// worker's thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "src/net/blocking_pool.h"
#include "src/net/chunk_pool.h"
#include "src/net/task.h"
#include "src/util/error.h"

namespace pontage::frontend {

class FileWindow {
 public:
  static constexpr std::size_t kChunks = 4;

  void use(net::Reactor& reactor, net::BlockingPool* disk) noexcept {
    reactor_ = &reactor;
    disk_ = disk;
  }
  // Reads some of the `count` (at least 1) bytes of `file` from `offset`; parts() has them until the next read or
  // clear(). Bytes read, at least 1. Without a pool it waits for the disk itself.
  net::Task<util::Result<std::size_t>> read(int file, std::uint64_t offset, std::uint64_t count);
  std::span<const std::string_view> parts() const noexcept { return {parts_.data(), part_count_}; }
  void clear() noexcept;

 private:
  using Read = net::Task<util::Result<std::size_t>>;
  util::Result<std::size_t> take(std::int64_t got, int os_error);
  Read read_on_pool(int file, std::uint64_t offset, std::size_t count);

  net::Reactor* reactor_ = nullptr;
  net::BlockingPool* disk_ = nullptr;
  std::array<net::Chunk, kChunks> chunks_;
  std::unique_ptr<char[]> cold_;
  std::array<std::string_view, kChunks> parts_;
  std::size_t part_count_ = 0;
  std::size_t want_ = 1;  // chunks
};

}  // namespace pontage::frontend
