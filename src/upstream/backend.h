// Backend: a named set of servers and how one is chosen for an exchange. Immutable after it was built from one
// configuration; the servers in it outlive it. Shared by all workers (balancer state is per worker).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/config/config.h"
#include "src/upstream/balancer.h"
#include "src/upstream/server.h"

namespace pontage::upstream {

class Backend {
 public:
  Backend(const config::Backend& config, std::vector<std::shared_ptr<BackendServer>> servers, std::size_t workers);

  // The servers of one exchange in the order to try them: the one its session names, then the balancer's choices; each
  // once. Servers left out by health are offered last, so that a request still goes somewhere when all are out.
  class Choice {
   public:
    Choice(const Backend& backend, const http::Exchange& exchange);
    // nullptr when every server was tried.
    const std::shared_ptr<BackendServer>* next();

   private:
    const Backend* backend_;
    const http::Exchange* exchange_;
    std::uint64_t tried_ = 0;  // a bit per server; at most 64 servers take part
    bool looked_at_session_ = false;
  };

  const std::string& name() const noexcept { return name_; }
  const config::Backend& config() const noexcept { return config_; }
  const std::vector<std::shared_ptr<BackendServer>>& servers() const noexcept { return servers_; }
  // Whether a server of it gets CGI variables.
  bool speaks_cgi() const noexcept { return speaks_cgi_; }

  // Counts of the retry budget: retries may be at most a share of requests (ADAPTERS L12), never below 10 in stock.
  void note_request(unsigned worker) const noexcept;
  bool may_retry(unsigned worker) const noexcept;

  static constexpr std::size_t kMostServers = 64;

 private:
  struct PerWorker {
    RoundRobin balancer;
    std::int64_t retry_stock = 10 * 100;  // hundredths of a retry
  };

  std::string name_;
  config::Backend config_;
  std::vector<std::shared_ptr<BackendServer>> servers_;
  std::vector<int> weights_;
  bool speaks_cgi_ = false;
  std::vector<std::unique_ptr<PerWorker>> workers_;
};

}  // namespace pontage::upstream
