// Contact: one server as one adapter reaches it, the same way as traffic does: its pool and connections, the proxy
// handler, the forwarded head. What the adapter notices it hears as symptoms, instead of the log. Owned by an
// examination; the probe's one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/handlers/proxy.h"
#include "src/net/blocking_pool.h"
#include "src/net/reactor.h"
#include "src/net/resolver.h"
#include "src/observe/metrics.h"
#include "src/probe/question.h"
#include "src/upstream/backend.h"

namespace pontage::probe {

// How often a probe looks whether what it waits for has come.
inline constexpr std::uint64_t kPollMs = 4;

// What all contacts of a probe share, and a gateway would have of its own. Members are destroyed in reverse: the
// resolver's thread first.
struct Bench {
  net::Reactor reactor;
  observe::Metrics metrics;
  observe::WorkerMetrics& counters = metrics.add_worker();
  std::shared_ptr<const http::ForwardingPolicy> forwarding = std::make_shared<http::ForwardingPolicy>();
  net::BlockingPool blocking{1};
  net::Resolver resolver;
};

struct Heard {
  upstream::Symptom symptom;
  std::string detail;
};

struct Answer {
  bool answered = false;
  int status = 0;
  std::uint64_t took_ns = 0;  // from before the connection to the end of the answer
  util::Error error;          // unless answered
  std::vector<Heard> heard;
};

class Contact {
 public:
  // No wait is longer than `patience_ms`, whatever the configuration says.
  Contact(Bench& bench, const config::Config& config, const config::Backend& backend, const config::Server& server,
          std::uint64_t patience_ms);
  ~Contact();
  Contact(const Contact&) = delete;
  Contact& operator=(const Contact&) = delete;

  upstream::BackendServer& server() noexcept { return *server_; }
  // The addresses of its name; empty when there are none after a while.
  net::Task<std::vector<net::Address>> resolve();
  void set_addresses(std::vector<net::Address> addresses) { server_->set_addresses(std::move(addresses)); }
  // HEAD, with a field of `padding` bytes unless that is 0. Its connection stays idle if the answer lets it.
  net::Task<Answer> ask(net::Fiber& fiber, const Question& question, std::size_t padding);
  // Opens connections until there are `most` or one fails, CPING included, and closes them. How many there were.
  net::Task<int> open_many(net::Fiber& fiber, int most);

 private:
  net::Task<void> read_answer(http::Exchange& exchange, handlers::ProxyHandler& handler, Answer& answer) const;

  Bench& bench_;
  const std::uint64_t patience_ms_;
  const config::ServerUrl url_;
  std::shared_ptr<upstream::BackendServer> server_;
  std::shared_ptr<const upstream::Backend> backend_;
  http::ConnectionInfo connection_;
  std::vector<Heard> heard_;
};

}  // namespace pontage::probe
