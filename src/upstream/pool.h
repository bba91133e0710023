// The pool of one server, for the whole process: how many connections are open, which are idle on which worker, and who
// waits.
//
// Written invariants (tests/unit/upstream):
//  - open_ counts idle, leased and connecting connections and never exceeds `max`.
//  - No request waits while a connection to the server is idle anywhere: nobody takes an idle one past a non-empty
//  queue, and whoever
//    joins the queue recalls the workers that keep idle ones.
//  - A waiter leaves the queue under the lock, exactly once: granted, or withdrawn. A grant that finds its waiter gone
//  passes on.
// Idle lists belong to their worker's thread; counts, queue and cap change under lock_.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "src/net/fiber.h"
#include "src/net/reactor.h"
#include "src/upstream/connection.h"
#include "src/util/error.h"
#include "src/util/intrusive_list.h"
#include "src/util/unique_fd.h"

namespace pontage::upstream {

struct PoolLimits {
  int max = 200;
  int idle = 50;
  int queue = 500;
  std::uint64_t queue_ms = 2000;
  std::uint64_t idle_ms = 30000;
};

// What a request gets: an idle connection, or leave to open one (connection == nullptr); either is counted in open_.
struct Grant {
  std::unique_ptr<BackendConnection> connection;
};

class Pool {
 public:
  // `workers` in the order of their ids; they outlive the pool.
  Pool(BackendServer& server, std::vector<net::Reactor*> workers);
  ~Pool();

  // Waits in the queue when it must. Errors: queue_full, queue_timeout, cancelled; all of class not_sent.
  net::Task<util::Result<Grant>> acquire(net::Reactor& reactor);
  // A connection comes back after use, on its worker's thread.
  void give_back(std::unique_ptr<BackendConnection> connection) noexcept;
  // A counted connection is gone: closed, or never came about.
  void forget() noexcept;
  // Counts the place of a connection whose process outlives it once more: the forget() that follows for the connection
  // then frees nothing, and another is due when the process has ended.
  void hold() noexcept;
  // From any thread; the new limits hold for what happens next.
  void set_limits(const PoolLimits& limits) noexcept;
  // The server left the configuration: nothing idles here any more. From any thread.
  void retire() noexcept;

  struct Gauges {
    int open = 0;
    int idle = 0;
    int waiting = 0;
  };
  Gauges gauges() const noexcept;

 private:
  friend class BackendConnection;
  struct Ticket;
  class Waiting;
  using TicketPtr = std::shared_ptr<Ticket>;
  struct Local {
    util::IntrusiveList<BackendConnection> idle;  // most recently used first
  };

  bool try_acquire(unsigned worker, Grant& grant) noexcept;
  util::Result<TicketPtr> enqueue(net::Reactor& reactor);
  bool withdraw(Ticket& ticket) noexcept;
  void recall(unsigned worker) noexcept;
  void deliver(const TicketPtr& ticket, std::unique_ptr<BackendConnection> connection, unsigned from) noexcept;
  void arrive(const TicketPtr& ticket) noexcept;
  TicketPtr pop_waiting() noexcept;
  void keep_idle(std::unique_ptr<BackendConnection> connection) noexcept;
  std::unique_ptr<BackendConnection> take_idle(unsigned worker) noexcept;
  void idle_ended(BackendConnection& connection) noexcept;
  void close_idle(unsigned worker) noexcept;

  BackendServer* server_;
  std::vector<net::Reactor*> workers_;
  std::vector<std::unique_ptr<Local>> locals_;  // by worker id

  mutable std::mutex lock_;
  // Guarded by lock_:
  PoolLimits limits_;
  std::vector<int> idle_;         // idle connections by worker
  std::vector<TicketPtr> queue_;  // a ring would save moves; the queue is short or the service is down
  std::size_t queue_head_ = 0;
  int open_ = 0;
  int idle_total_ = 0;
  bool retired_ = false;
};

}  // namespace pontage::upstream
