#include "src/frontend/http2_output.h"

#include <algorithm>
#include <cstring>

namespace pontage::frontend {

void Http2Output::add(const char* data, std::size_t size, bool referred) {
  size_ += size;
  if (count_ > first_ && !referred && !referred_.test(count_ - 1)) {
    iovec& last = pieces_[count_ - 1];
    if (static_cast<const char*>(last.iov_base) + last.iov_len == data) {
      last.iov_len += size;
      return;
    }
  }
  pieces_[count_] = {const_cast<char*>(data), size};
  referred_.set(count_, referred);
  ++count_;
}

// Where the next copied bytes go, and how many fit there; nullptr without memory.
char* Http2Output::extend(std::size_t& room) {
  if (used_ == net::ChunkPool::kChunk) {
    net::Chunk chunk = stream_->reactor().chunks().take();
    if (!chunk) {
      failed_ = true;
      return nullptr;
    }
    chunks_.push_back(std::move(chunk));
    used_ = 0;
  }
  room = net::ChunkPool::kChunk - used_;
  return chunks_.back().data() + used_;
}

void Http2Output::copy(std::string_view bytes) {
  while (!bytes.empty()) {
    std::size_t room = 0;
    char* to = extend(room);
    if (to == nullptr) return;
    const std::size_t take = std::min(room, bytes.size());
    std::memcpy(to, bytes.data(), take);
    used_ += take;
    add(to, take, false);
    bytes.remove_prefix(take);
  }
}

void Http2Output::refer(std::string_view bytes) {
  add(bytes.data(), bytes.size(), true);
}

void Http2Output::advance(std::size_t bytes) noexcept {
  size_ -= bytes;
  while (bytes > 0) {
    iovec& piece = pieces_[first_];
    const std::size_t take = std::min(bytes, piece.iov_len);
    piece.iov_base = static_cast<char*>(piece.iov_base) + take;
    piece.iov_len -= take;
    bytes -= take;
    if (piece.iov_len == 0) ++first_;
  }
}

// The memory that was gathered belongs to bodies that go on from here.
void Http2Output::own_the_rest() {
  std::array<iovec, kPieces + kSplits> rest;
  std::bitset<kPieces + kSplits> referred;
  const std::size_t count = count_ - first_;
  std::copy_n(pieces_.begin() + static_cast<std::ptrdiff_t>(first_), count, rest.begin());
  for (std::size_t i = 0; i < count; ++i) referred.set(i, referred_.test(first_ + i));
  first_ = count_ = size_ = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto* data = static_cast<const char*>(rest[i].iov_base);
    if (referred.test(i)) {
      copy({data, rest[i].iov_len});
    } else {
      add(data, rest[i].iov_len, false);
    }
  }
}

void Http2Output::forget() noexcept {
  first_ = count_ = size_ = 0;
  chunks_.clear();
  used_ = net::ChunkPool::kChunk;
}

Http2Output::Flush Http2Output::flush() {
  blocked_on_ = net::IoStatus::done;
  while (size_ > 0 && !failed_) {
    const auto put = stream_->try_write({pieces_.data() + first_, count_ - first_}, net::More::no);
    if (put.status == net::IoStatus::done) {
      advance(put.bytes);
      continue;
    }
    if (put.status == net::IoStatus::error || put.status == net::IoStatus::end) return Flush::failed;
    blocked_on_ = put.status;
    own_the_rest();
    return failed_ ? Flush::failed : Flush::blocked;
  }
  if (failed_) return Flush::failed;
  if (count_ > 0) forget();
  return Flush::done;
}

}  // namespace pontage::frontend
