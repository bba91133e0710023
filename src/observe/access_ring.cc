#include "src/observe/access_ring.h"

#include <algorithm>
#include <cstring>

#include <unistd.h>

namespace pontage::observe {

// The memory is not touched here: pages that are never written stay unused.
AccessRing::AccessRing(const std::atomic<AccessFormat>& format, int wake_fd, std::size_t size)
    : format_(format), wake_fd_(wake_fd), size_(size), bytes_(new char[size + std::min(size, kMaxAccessLine)]) {}

void AccessRing::write(const AccessRecord& record) noexcept {
  const AccessFormat format = format_.load(std::memory_order_relaxed);
  if (format == AccessFormat::off) return;
  std::size_t room = size_ - static_cast<std::size_t>(written_ - known_read_);
  if (room < kMaxAccessLine) {
    known_read_ = tail_.load(std::memory_order_acquire);
    room = size_ - static_cast<std::size_t>(written_ - known_read_);
  }
  const std::size_t at = written_ % size_;
  wire::Sink line(std::span(bytes_.get() + at, std::min(room, kMaxAccessLine)));
  if (format == AccessFormat::json) {
    format_json(record, line);
  } else {
    format_combined(record, line);
  }
  if (line.overflowed()) {
    dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return;
  }
  if (at + line.size() > size_) std::memcpy(bytes_.get(), bytes_.get() + size_, at + line.size() - size_);
  written_ += line.size();
  head_.store(written_, std::memory_order_release);
  if (written_ - woken_at_ >= kWakeAt && wake_fd_ >= 0) {
    woken_at_ = written_;
    const std::uint64_t one = 1;
    // It fails only when the counter is full, and then the thread is awake.
    [[maybe_unused]] const ssize_t done = ::write(wake_fd_, &one, sizeof one);
  }
}

std::size_t AccessRing::readable(std::span<iovec, 2> pieces) const noexcept {
  const std::uint64_t from = tail_.load(std::memory_order_relaxed);
  const auto bytes = static_cast<std::size_t>(head_.load(std::memory_order_acquire) - from);
  if (bytes == 0) return 0;
  const std::size_t at = from % size_;
  const std::size_t first = std::min(bytes, size_ - at);
  pieces[0] = {bytes_.get() + at, first};
  pieces[1] = {bytes_.get(), bytes - first};
  return first == bytes ? 1 : 2;
}

void AccessRing::consume(std::size_t bytes) noexcept {
  tail_.store(tail_.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
}

}  // namespace pontage::observe
