#include "src/upstream/pool.h"

#include <algorithm>
#include <cerrno>

#include <sys/socket.h>

#include "src/net/socket_options.h"
#include "src/upstream/server.h"

namespace pontage::upstream {

// One place in the queue. `waiting` belongs to the waiter's worker; the rest is written before the ticket is posted
// there.
struct Pool::Ticket {
  net::Reactor* reactor = nullptr;
  Waiting* waiting = nullptr;
  std::unique_ptr<BackendConnection> connection;  // granted by the same worker
  std::unique_ptr<net::ByteStream> moved;         // granted by another one; attached to no reactor
  bool granted = false;                           // waiter's thread
};

class Pool::Waiting : public net::Wait {
 public:
  Waiting(Pool& pool, Ticket& ticket, net::Deadline deadline) noexcept
      : Wait(observe::Phase::queue, deadline), pool_(&pool), ticket_(&ticket) {
    ticket.waiting = this;
  }
  bool await_ready() const noexcept { return ticket_->granted; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    if (suspend(coroutine)) return true;
    withdraw();
    return false;
  }
  net::WaitResult await_resume() const noexcept { return result(); }

 private:
  void withdraw() noexcept override {
    ticket_->waiting = nullptr;
    if (!ticket_->granted) pool_->withdraw(*ticket_);
  }
  Pool* pool_;
  Ticket* ticket_;
};

Pool::Pool(BackendServer& server, std::vector<net::Reactor*> workers)
    : server_(&server), workers_(std::move(workers)), idle_(workers_.size(), 0) {
  for (std::size_t i = 0; i < workers_.size(); ++i) locals_.push_back(std::make_unique<Local>());
}

Pool::~Pool() = default;

bool Pool::try_acquire(unsigned worker, Grant& grant) noexcept {
  {
    const std::lock_guard guard(lock_);
    if (queue_head_ < queue_.size()) return false;
    if (idle_[worker] > 0) {
      --idle_[worker];
      --idle_total_;
    } else if (idle_total_ == 0 && open_ < limits_.max) {
      ++open_;
      return true;
    } else {
      return false;
    }
  }
  grant.connection = take_idle(worker);
  return true;
}

net::Task<util::Result<Grant>> Pool::acquire(net::Reactor& reactor) {
  Grant grant;
  if (try_acquire(reactor.id(), grant)) co_return std::move(grant);
  auto queued = enqueue(reactor);
  if (!queued) co_return util::Failure(queued.error());
  const TicketPtr ticket = std::move(*queued);
  std::uint64_t patience = 0;
  {
    const std::lock_guard guard(lock_);
    patience = limits_.queue_ms;
  }
  Waiting waiting(*this, *ticket, reactor.after(patience));
  const net::WaitResult waited = co_await waiting;
  if (!ticket->granted) {
    const bool late = waited == net::WaitResult::timeout;
    co_return util::Failure(util::Error{.kind = late ? util::ErrorKind::queue_timeout : util::ErrorKind::cancelled,
                                        .source = util::Source::gateway,
                                        .detail = "queue"});
  }
  grant.connection = std::move(ticket->connection);
  co_return std::move(grant);
}

util::Result<Pool::TicketPtr> Pool::enqueue(net::Reactor& reactor) {
  auto ticket = std::make_shared<Ticket>();
  ticket->reactor = &reactor;
  std::vector<unsigned> holders;
  bool open_now = false;
  {
    const std::lock_guard guard(lock_);
    // Waiting is only for those who will get an idle connection of another worker, or when no more may be opened.
    const auto waiting = static_cast<int>(queue_.size() - queue_head_);
    if (waiting >= idle_total_ && open_ < limits_.max) {
      ++open_;
      open_now = true;
    } else if (waiting >= std::max(limits_.queue, idle_total_)) {
      return util::fail(util::ErrorKind::queue_full, util::Source::gateway, "queue");
    } else {
      queue_.push_back(ticket);
      for (unsigned w = 0; w < idle_.size(); ++w) {
        if (idle_[w] > 0) holders.push_back(w);
      }
    }
  }
  if (open_now) ticket->granted = true;
  for (const unsigned holder : holders) {
    workers_[holder]->post([server = server_->shared_from_this(), holder] { server->pool().recall(holder); });
  }
  return ticket;
}

bool Pool::withdraw(Ticket& ticket) noexcept {
  const std::lock_guard guard(lock_);
  const auto begin = queue_.begin() + static_cast<std::ptrdiff_t>(queue_head_);
  const auto found = std::find_if(begin, queue_.end(), [&](const TicketPtr& t) { return t.get() == &ticket; });
  if (found == queue_.end()) return false;  // a grant is on its way; arrive() passes it on
  queue_.erase(found);
  return true;
}

// Takes the first waiter out; the caller holds lock_.
Pool::TicketPtr Pool::pop_waiting() noexcept {
  if (queue_head_ == queue_.size()) return nullptr;
  TicketPtr ticket = std::move(queue_[queue_head_++]);
  if (queue_head_ == queue_.size()) {
    queue_.clear();
    queue_head_ = 0;
  } else if (queue_head_ > 64 && queue_head_ * 2 > queue_.size()) {
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(queue_head_));
    queue_head_ = 0;
  }
  return ticket;
}

// On worker `worker`: somebody waits, so what idles here moves.
void Pool::recall(unsigned worker) noexcept {
  for (;;) {
    TicketPtr ticket;
    {
      const std::lock_guard guard(lock_);
      if (idle_[worker] == 0) return;
      ticket = pop_waiting();
      if (!ticket) return;
      --idle_[worker];
      --idle_total_;
    }
    deliver(ticket, take_idle(worker), worker);
  }
}

void Pool::give_back(std::unique_ptr<BackendConnection> connection) noexcept {
  const unsigned worker = connection->reactor().id();
  ++connection->uses_;
  connection->idle_since_ms_ = connection->reactor().now_ms();
  TicketPtr ticket;
  bool keep = false;
  {
    const std::lock_guard guard(lock_);
    ticket = pop_waiting();
    keep = !retired_ && idle_total_ < limits_.idle && open_ <= limits_.max;
    if (!ticket && keep) {
      ++idle_[worker];
      ++idle_total_;
    }
  }
  if (ticket) {
    deliver(ticket, std::move(connection), worker);
  } else if (keep) {
    keep_idle(std::move(connection));
  } else {
    connection.reset();
    forget();
  }
}

void Pool::forget() noexcept {
  TicketPtr ticket;
  {
    const std::lock_guard guard(lock_);
    --open_;
    if (open_ < limits_.max) ticket = pop_waiting();
    if (ticket) ++open_;
  }
  if (ticket) deliver(ticket, nullptr, ~0U);
}

void Pool::hold() noexcept {
  const std::lock_guard guard(lock_);
  ++open_;
}

void Pool::deliver(const TicketPtr& ticket, std::unique_ptr<BackendConnection> connection, unsigned from) noexcept {
  net::Reactor& target = *ticket->reactor;
  if (connection && target.id() == from) {
    ticket->connection = std::move(connection);
    arrive(ticket);
    return;
  }
  if (connection) {
    connection->stream_->detach();
    ticket->moved = std::move(connection->stream_);
    connection.reset();
  }
  target.post([server = server_->shared_from_this(), ticket] { server->pool().arrive(ticket); });
}

namespace {

// Bytes, an end or an error wait on a connection that should be silent.
bool has_input(int fd) noexcept {
  char byte = 0;
  const ssize_t got = ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

}  // namespace

// On the waiter's worker.
void Pool::arrive(const TicketPtr& ticket) noexcept {
  if (ticket->moved && has_input(ticket->moved->fd())) {
    ticket->moved.reset();  // what came on the way belongs to no exchange (ADAPTERS X20); its place opens a new one
  } else if (ticket->moved) {
    ticket->moved->attach(*ticket->reactor);
    ticket->connection = server_->make_connection(std::move(ticket->moved));
    ticket->connection->uses_ = 1;
  }
  if (ticket->waiting == nullptr) {  // it gave up meanwhile
    if (ticket->connection) {
      give_back(std::move(ticket->connection));
    } else {
      forget();
    }
    return;
  }
  ticket->granted = true;
  ticket->waiting->complete(net::WaitResult::ready);
}

void Pool::keep_idle(std::unique_ptr<BackendConnection> connection) noexcept {
  BackendConnection* idle = connection.release();
  idle->idle_ = true;
  if (!idle->probed_) {
    idle->probed_ = true;
    net::enable_keepalive_probes(idle->stream_->fd());
  }
  locals_[idle->reactor().id()]->idle.push_front(*idle);
  idle->stream_->watch_hangup(&BackendConnection::on_hangup, idle, net::ByteStream::OnInput::report);
  const std::uint64_t idle_ms = server_->idle_ms();
  if (!idle->idle_timer_.linked() && idle_ms != 0) {
    idle->reactor().wheel().schedule(idle->idle_timer_, idle->idle_since_ms_ + idle_ms);
  }
}

std::unique_ptr<BackendConnection> Pool::take_idle(unsigned worker) noexcept {
  std::unique_ptr<BackendConnection> connection(locals_[worker]->idle.pop_front());
  connection->idle_ = false;
  connection->stream_->watch_hangup(nullptr, nullptr);
  return connection;
}

// An idle connection is of no use any more: closed by the server, spoken on out of turn, or too old.
void Pool::idle_ended(BackendConnection& connection) noexcept {
  const unsigned worker = connection.reactor().id();
  connection.unlink();
  {
    const std::lock_guard guard(lock_);
    --idle_[worker];
    --idle_total_;
  }
  const auto server = connection.shared_server();  // outlives the connection
  delete &connection;
  forget();
}

void Pool::set_limits(const PoolLimits& limits) noexcept {
  const std::lock_guard guard(lock_);
  limits_ = limits;
  retired_ = false;
}

void Pool::retire() noexcept {
  {
    const std::lock_guard guard(lock_);
    retired_ = true;
  }
  for (unsigned w = 0; w < workers_.size(); ++w) {
    workers_[w]->post([server = server_->shared_from_this(), w] { server->pool().close_idle(w); });
  }
}

void Pool::close_idle(unsigned worker) noexcept {
  while (BackendConnection* connection = locals_[worker]->idle.front()) idle_ended(*connection);
}

Pool::Gauges Pool::gauges() const noexcept {
  const std::lock_guard guard(lock_);
  return {open_, idle_total_, static_cast<int>(queue_.size() - queue_head_)};
}

}  // namespace pontage::upstream
