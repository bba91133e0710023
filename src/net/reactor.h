// The event loop of one worker: epoll, the timer wheel, the queue of fibers that are ready, and a mailbox for other
// threads.
//
// Sockets are registered once, edge-triggered with EPOLLRDHUP, and remember what they are ready for; so a keep-alive
// request costs one recv and one send, no read is ever armed, an idle connection holds no buffer, and nothing has to be
// cancelled before a descriptor moves to another worker. Measured against awaiters over Asio's reactor on the same
// machine it saves one EAGAIN read and one trip through the scheduler a request (ARCHITECTURE "The engine"); Asio
// serves the control thread.
//
// A turn has two passes: first every event is noted (flags, waits completed, idle connections found closed), then the
// ready fibers run. So a fiber that takes a pooled connection knows everything the kernel had reported when the turn
// began. The worker's thread only, but for post() and stop().
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "src/net/chunk_pool.h"
#include "src/net/fiber.h"
#include "src/net/wheel.h"
#include "src/util/clock.h"
#include "src/util/intrusive_list.h"
#include "src/util/unique_fd.h"

namespace pontage::net {

// Something that epoll reports events for. on_events() only notes and completes waits; it never runs a fiber.
class EventTarget {
 public:
  virtual void on_events(std::uint32_t events) noexcept = 0;

 protected:
  ~EventTarget() = default;
};

class Reactor {
 public:
  // `id` numbers the workers from 0. Throws std::system_error when the kernel refuses epoll or eventfd.
  explicit Reactor(unsigned id = 0);
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;
  ~Reactor();

  unsigned id() const noexcept { return id_; }
  // Runs until stop(). Everything posted before is run.
  void run();
  // From any thread.
  void stop() noexcept;
  // Runs `work` on the reactor's thread in its next turn. From any thread; never waits. Allocates.
  void post(std::function<void()> work);

  // `events` as for epoll_ctl. False when the kernel refuses (out of memory or watches).
  bool add(int fd, std::uint32_t events, EventTarget& target) noexcept;
  void remove(int fd) noexcept;

  void schedule(Wait& wait) noexcept { ready_.push_back(wait); }
  Wheel& wheel() noexcept { return wheel_; }
  ChunkPool& chunks() noexcept { return chunks_; }

  // Numbers the turns of the loop; wraps around.
  std::uint32_t turn() const noexcept { return turn_; }
  // The time when this turn began.
  std::uint64_t now_ms() const noexcept { return now_ms_; }
  util::Cycles turn_cycles() const noexcept { return turn_cycles_; }
  Deadline after(std::uint64_t milliseconds) const noexcept {
    return milliseconds == 0 ? kNoDeadline : now_ms_ + milliseconds;
  }
  // The wall clock, seconds since 1970; at most a turn old.
  std::int64_t unix_seconds() const noexcept { return unix_seconds_; }

  // Called after each turn with the cycles it took; for loop lag.
  void on_turn(std::function<void(util::Cycles)> hook) { turn_hook_ = std::move(hook); }

 private:
  void wait_for_events();
  void take_mail();
  void run_ready();
  void read_clocks() noexcept;

  unsigned id_;
  ChunkPool chunks_;
  util::UniqueFd epoll_;
  util::UniqueFd wake_;
  Wheel wheel_;
  util::IntrusiveList<Wait> ready_;
  std::function<void(util::Cycles)> turn_hook_;
  std::uint64_t now_ms_ = 0;
  std::uint64_t trim_at_ms_ = 0;
  std::int64_t unix_seconds_ = 0;
  util::Cycles turn_cycles_ = 0;
  std::uint32_t turn_ = 0;

  std::atomic<bool> stopping_{false};
  std::mutex mail_lock_;
  std::vector<std::function<void()>> mail_;  // guarded by mail_lock_
  bool mail_arrived_ = false;
};

}  // namespace pontage::net
