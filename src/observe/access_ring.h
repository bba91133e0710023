// One worker's access lines on their way to the log thread: a bounded ring of bytes with one writer and one reader and
// no lock. Made and owned by AccessLog; write() on the worker's thread, the rest on the log thread. A line that finds
// no room is dropped and counted; the worker never waits.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <sys/uio.h>

#include "src/config/config.h"
#include "src/observe/access_record.h"

namespace pontage::observe {

using AccessFormat = config::AccessLog::Format;

class AccessRing {
 public:
  static constexpr std::size_t kDefaultSize = 1 << 20;
  static constexpr std::size_t kWakeAt = 64 * 1024;

  // `format` is looked at for each line and may change at any time; it must outlive the ring. `wake_fd` is an eventfd
  // that is written when kWakeAt bytes have gathered; -1 for none.
  AccessRing(const std::atomic<AccessFormat>& format, int wake_fd, std::size_t size = kDefaultSize);
  AccessRing(const AccessRing&) = delete;
  AccessRing& operator=(const AccessRing&) = delete;

  // Formats one line into the ring. Allocates nothing; one system call every kWakeAt bytes.
  void write(const AccessRecord& record) noexcept;
  // False: write() would do nothing, so the record need not be made.
  bool enabled() const noexcept { return format_.load(std::memory_order_relaxed) != AccessFormat::off; }
  // Lines that found no room. Any thread.
  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

  // What has been written and not consumed, oldest first, whole lines but for the start of the first: up to two pieces,
  // valid until consume(). Returns their number.
  std::size_t readable(std::span<iovec, 2> pieces) const noexcept;
  void consume(std::size_t bytes) noexcept;

 private:
  const std::atomic<AccessFormat>& format_;
  const int wake_fd_;
  const std::size_t size_;
  // Room for a line that runs over the end, so that every line is formatted in one piece; its tail is then copied to
  // the front.
  const std::unique_ptr<char[]> bytes_;

  // Positions only grow; the place is position % size_.
  alignas(64) std::uint64_t written_ = 0;  // the writer's own copies
  std::uint64_t known_read_ = 0;
  std::uint64_t woken_at_ = 0;
  std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint64_t> dropped_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

}  // namespace pontage::observe
