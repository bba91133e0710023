// What an HTTP/2 connection is about to send: frames are copied together, longer pieces of bodies are gathered where
// they lie. Those may go as soon as flush() has returned: what the socket did not take of them is copied then. Holds
// memory only while something waits. Owned by its session; worker's thread.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/uio.h>

#include "src/net/chunk_pool.h"
#include "src/net/stream.h"

namespace pontage::frontend {

class Http2Output {
 public:
  explicit Http2Output(net::ByteStream& stream) noexcept : stream_(&stream) {}

  // Whether another frame may be added.
  bool has_room() const noexcept {
    return size_ < kMost && count_ + kFramePieces <= kPieces && !failed_ && !turn_closed_;
  }
  // Nothing more before the next turn.
  void close_turn() noexcept { turn_closed_ = true; }
  // A new turn; whether the last one was closed early.
  bool open_turn() noexcept { return std::exchange(turn_closed_, false); }
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  void copy(std::string_view bytes);
  void refer(std::string_view bytes);

  enum class Flush : std::uint8_t { done, blocked, failed };
  // Sends as much as the socket takes.
  Flush flush();
  // What the last try waits for, when it was blocked.
  net::IoStatus blocked_on() const noexcept { return blocked_on_; }

 private:
  static constexpr std::size_t kMost = 64 * 1024;
  static constexpr std::size_t kPieces = 96;
  static constexpr std::size_t kFramePieces = 24;  // of one frame: a batch's, and the copied ones between
  static constexpr std::size_t kSplits = 16;       // more when gathered pieces are copied over the ends of chunks

  char* extend(std::size_t& room);
  void add(const char* data, std::size_t size, bool referred);
  void advance(std::size_t bytes) noexcept;
  void own_the_rest();
  void forget() noexcept;

  net::ByteStream* stream_;
  std::vector<net::Chunk> chunks_;
  std::size_t used_ = net::ChunkPool::kChunk;  // of the last chunk
  std::array<iovec, kPieces + kSplits> pieces_;
  std::bitset<kPieces + kSplits> referred_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::size_t size_ = 0;
  net::IoStatus blocked_on_ = net::IoStatus::done;
  bool failed_ = false;  // no memory
  bool turn_closed_ = false;
};

}  // namespace pontage::frontend
