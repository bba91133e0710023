// SessionHost: what every session of one worker shares: the configuration in force, counters, the access log, spare exchanges, and the list of
// live sessions for draining. Owned by the worker; its thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "src/http/exchange.h"
#include "src/net/reactor.h"
#include "src/observe/access_log.h"
#include "src/observe/metrics.h"
#include "src/routing/site.h"
#include "src/util/intrusive_list.h"

namespace pontage::frontend {

// One client connection, whatever its protocol.
class Session : public util::ListHook {
 public:
  virtual ~Session() = default;
  // The worker drains: an idle session ends now, a busy one after its exchange.
  virtual void drain() noexcept = 0;
  // The deadline has passed: end whatever goes on.
  virtual void cancel() noexcept = 0;
  // The generation of the configuration its exchange holds; 0 while idle.
  virtual std::uint64_t generation() const noexcept = 0;
};

class SessionHost {
 public:
  SessionHost(net::Reactor& reactor, observe::WorkerMetrics& metrics, observe::AccessLog::Ring* log);

  net::Reactor& reactor() const noexcept { return *reactor_; }
  observe::WorkerMetrics& metrics() const noexcept { return *metrics_; }
  observe::AccessLog::Ring* access_log() const noexcept { return log_; }

  // The configuration that new exchanges begin with; never null once the worker runs.
  const std::shared_ptr<const routing::Site>& site() const noexcept { return site_; }
  void set_site(std::shared_ptr<const routing::Site> site);

  void add(Session& session) noexcept;
  // The session has ended: it is destroyed here.
  void remove(Session& session) noexcept;
  std::size_t count() const noexcept { return count_; }
  bool draining() const noexcept { return draining_; }
  void drain() noexcept;
  void cancel_all() noexcept;
  // Ends sessions whose exchange began under a generation before `oldest`.
  void cancel_older_than(std::uint64_t oldest) noexcept;
  // Called when the last session has gone while draining.
  void on_empty(std::function<void()> empty) { empty_ = std::move(empty); }

  // "Date: ...\r\nServer: pontage\r\n" of this second.
  std::string_view date_lines() noexcept;

 private:
  net::Reactor* reactor_;
  observe::WorkerMetrics* metrics_;
  observe::AccessLog::Ring* log_;
  std::shared_ptr<const routing::Site> site_;
  util::IntrusiveList<Session> sessions_;
  std::size_t count_ = 0;
  bool draining_ = false;
  std::function<void()> empty_;
  std::int64_t date_second_ = -1;
  char date_lines_[64] = {};
  std::size_t date_size_ = 0;
};

}  // namespace pontage::frontend
