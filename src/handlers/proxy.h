// The proxy handler: forwards an exchange to a server of its backend. The retry loop of ADAPTERS X12 stands here, in
// plain sight. Shared by all workers, immutable.
#pragma once

#include <memory>

#include "src/handlers/spooled_response.h"
#include "src/http/forwarding.h"
#include "src/http/handler.h"
#include "src/http/spool.h"
#include "src/net/blocking_pool.h"
#include "src/upstream/backend.h"

namespace pontage::handlers {

struct ProxyOptions {
  config::Buffering buffering = config::Buffering::off;  // of request bodies
  AnswerBuffering answers{};
  http::SpoolPolicy spool;
  bool retry_non_idempotent = false;                // class (b) for POST too
  std::vector<config::HeaderEdit> request_headers;  // applied to what the server gets
};

class ProxyHandler final : public http::Handler {
 public:
  // `blocking` writes what is buffered to its file; it outlives the handler's exchanges.
  ProxyHandler(std::shared_ptr<const upstream::Backend> backend, std::shared_ptr<const http::ForwardingPolicy> policy,
               net::BlockingPool& blocking, ProxyOptions options);

  net::Task<util::Result<http::Response>> handle(http::Exchange& exchange) override;

 private:
  enum class Verdict : std::uint8_t { give_up, other_server, fresh_connection };
  enum class Used : std::uint8_t { none, pooled, fresh };  // the connection of an attempt
  Verdict judge(const http::Exchange& exchange, const util::Error& error, bool replayable, Used used) const noexcept;
  void prepare(http::Exchange& exchange) const;
  // The CGI variables, when a server of the backend gets them.
  util::Result<void> make_variables(http::Exchange& exchange) const;

  std::shared_ptr<const upstream::Backend> backend_;
  std::shared_ptr<const http::ForwardingPolicy> policy_;
  net::BlockingPool* blocking_;
  ProxyOptions options_;
};

}  // namespace pontage::handlers
