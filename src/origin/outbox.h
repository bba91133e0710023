// Bytes on their way out: a buffer that grows as encoders need it. Owned by a session's Work; worker's thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

#include "protocols/wire/sink.h"

namespace pontage::origin {

class Outbox {
 public:
  // Enough for every fault and for /headers; what does not fit into that is dropped.
  static constexpr std::size_t kMost = std::size_t{4} << 20;

  std::string_view view() const noexcept { return {memory_.get(), size_}; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  void clear() noexcept {
    size_ = 0;
    if (capacity_ > kKept) {
      memory_.reset();
      capacity_ = 0;
    }
  }

  void append(std::string_view bytes) {
    if (bytes.empty() || !reserve(bytes.size())) return;
    std::memcpy(memory_.get() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  // Calls `encoder(wire::Sink&)`, again with more room when that was too little.
  template <class Encoder>
  void encode(Encoder&& encoder) {
    for (std::size_t room = kStart;; room *= 2) {
      if (!reserve(room)) return;
      wire::Sink sink({memory_.get() + size_, capacity_ - size_});
      encoder(sink);
      if (sink.overflowed()) continue;
      size_ += sink.size();
      return;
    }
  }

 private:
  static constexpr std::size_t kStart = 1024;
  static constexpr std::size_t kKept = std::size_t{128} << 10;

  bool reserve(std::size_t room) {
    if (capacity_ - size_ >= room) return true;
    if (size_ + room > kMost) return false;
    const std::size_t capacity = std::max({capacity_ * 2, size_ + room, std::size_t{16} << 10});
    auto memory = std::make_unique_for_overwrite<char[]>(capacity);
    if (size_ > 0) std::memcpy(memory.get(), memory_.get(), size_);
    memory_ = std::move(memory);
    capacity_ = capacity;
    return true;
  }

  std::unique_ptr<char[]> memory_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

}  // namespace pontage::origin
