// The library's memory: blocks by size class that wait in lists of their thread to be used again, so that steady state
// allocates nothing, and a bound for each connection. Each block knows its class, for the library frees without a size.
// The worker's thread only.
#pragma once

#include <cstddef>

#include <nghttp2/nghttp2.h>

namespace pontage::http2 {

// What one connection's library has allocated, and may.
struct MemoryAccount {
  std::size_t used = 0;
  std::size_t limit = 0;
};

// Functions that count into `account`, which outlives the connection. Beyond its limit they give no memory.
nghttp2_mem make_memory(MemoryAccount& account) noexcept;

// Frees what this thread keeps.
void trim_memory() noexcept;

}  // namespace pontage::http2
