// What an HTTP/1 session has read and not used yet. Holds a chunk only while bytes are in it. Worker's thread.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string_view>

#include "src/net/stream.h"

namespace pontage::frontend {

class Http1Input {
 public:
  explicit Http1Input(net::ByteStream& stream) noexcept : stream_(&stream) {}

  std::string_view view() const noexcept { return {chunk_.data() + at_, end_ - at_}; }
  bool empty() const noexcept { return at_ == end_; }
  void consume(std::size_t bytes) noexcept { at_ += bytes; }
  // Gives the chunk back when nothing is in it.
  void relax() noexcept {
    if (empty()) {
      chunk_.reset();
      at_ = end_ = 0;
    }
  }
  // One try to read more; everything before must have been consumed. `error` with ENOBUFS when there is no chunk to be
  // had.
  net::IoResult fill() noexcept {
    if (!chunk_) chunk_ = stream_->reactor().chunks().take();
    if (!chunk_) return {.status = net::IoStatus::error, .os_error = ENOBUFS};
    at_ = end_ = 0;
    const net::IoResult got = stream_->try_read(chunk_.span());
    if (got.status == net::IoStatus::done) end_ = got.bytes;
    return got;
  }
  // One try to read more behind what is there; `want_read` when the chunk is full.
  net::IoResult add() noexcept {
    if (empty()) return fill();
    if (end_ == net::ChunkPool::kChunk) return {.status = net::IoStatus::want_read};
    const net::IoResult got = stream_->try_read(chunk_.span().subspan(end_));
    if (got.status == net::IoStatus::done) end_ += got.bytes;
    return got;
  }
  net::ByteStream& stream() const noexcept { return *stream_; }

 private:
  net::ByteStream* stream_;
  net::Chunk chunk_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

}  // namespace pontage::frontend
