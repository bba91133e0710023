// The access log of the process: owns one AccessRing per worker and the thread that empties them into the file in large
// writes, when 64 KiB have gathered or 200 ms have passed. Workers never wait: while the file takes nothing (full disk,
// slow reader) lines stay in the rings, and when a ring is full new lines are dropped and counted. No line is torn or
// mixed with another. A failure is told in the error log and tried again; a file that cannot be reopened is written on
// under its old descriptor. Made before the workers and destroyed after them. Everything but the rings' write() is for
// the control thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "src/observe/access_ring.h"
#include "src/observe/log_file.h"
#include "src/util/error.h"
#include "src/util/unique_fd.h"

namespace pontage::observe {

class AccessLog {
 public:
  // Off until configured. Throws std::system_error without an eventfd.
  explicit AccessLog(std::size_t ring_size = AccessRing::kDefaultSize);
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;
  ~AccessLog();

  // At start and on reload. Opens `file` when it is another than before; on error (io, os_error) everything stays as it
  // was. Lines written before go to the old file. `file` is not looked at when the format is off.
  util::Result<void> configure(AccessFormat format, const std::string& file);
  // One more worker's ring; valid as long as this.
  AccessRing& add_ring();
  // Opens the file anew (USR1), soon. Any thread.
  void reopen() noexcept;
  // Returns when every line written before, and a reopen() before, has been tried; waits at most for one round of
  // writes.
  void flush();
  // Writes what is left, for at most a second, and ends the thread. Later lines are lost.
  void stop() noexcept;
  // Lines dropped because a ring was full. Any thread.
  std::uint64_t dropped() const;

 private:
  // How a round of writes went: all written, the file is full for now, the file fails.
  enum class Round : unsigned char { done, stuck, failed };
  struct Orders {
    bool stop = false;
    bool reopen = false;
    std::uint64_t flush = 0;
    std::optional<LogFile> file;
    std::vector<AccessRing*> rings;
  };

  void wake() noexcept;
  void run();
  Orders take_orders();
  void obey(Orders& orders);
  Round drain(const std::vector<AccessRing*>& rings);
  Round drain_ring(AccessRing& ring);
  void skip_torn_line(const std::vector<AccessRing*>& rings) noexcept;
  void finish(const std::vector<AccessRing*>& rings);
  void sleep(Round last, int timeout_ms) noexcept;

  const std::size_t ring_size_;
  util::UniqueFd wake_fd_;
  std::atomic<AccessFormat> format_{AccessFormat::off};

  mutable std::mutex mutex_;
  std::condition_variable flushed_;
  std::vector<std::unique_ptr<AccessRing>> rings_;
  std::string path_;
  std::optional<LogFile> next_file_;
  bool reopen_ = false;
  bool stop_ = false;
  std::uint64_t flush_wanted_ = 0;
  std::uint64_t flush_done_ = 0;

  // The log thread's own.
  LogFile file_;
  bool reopen_failed_ = false;
  bool torn_ = false;      // the last write ended inside a line of ring first_
  std::size_t first_ = 0;  // the ring to begin with

  std::thread thread_;
};

}  // namespace pontage::observe
