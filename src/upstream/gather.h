// When what came of a response waits a moment for what follows: servers that send head, body and end in pieces of their
// own need not cost the client's side a send each (PERF.md 7). Shared by the adapters that gather; pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/http/body_source.h"
#include "src/net/chunk_pool.h"

namespace pontage::upstream {

inline constexpr std::uint64_t kGatherMs = 4;

// While it is small, there is room behind it (`used` bytes of its chunk are taken), and no flush was asked for.
inline bool may_gather(const http::BodyBatch& batch, std::size_t used) noexcept {
  constexpr std::size_t kMost = 12 * 1024;  // about what the session copies into one send
  constexpr std::size_t kLeastRoom = 512;
  return batch.flush == http::Flush::no && !batch.full() && batch.bytes() < kMost &&
         net::ChunkPool::kChunk - used >= kLeastRoom;
}

}  // namespace pontage::upstream
