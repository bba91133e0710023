// BackendServer: one application server of a backend. Its pool, addresses, health and counters belong to (backend,
// server name or URL) and outlive configuration snapshots. Shared by all workers; the members say what guards them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/config.h"
#include "src/net/address.h"
#include "src/net/tls_client.h"
#include "src/observe/metrics.h"
#include "src/upstream/connection.h"
#include "src/upstream/hints.h"
#include "src/upstream/pool.h"

namespace pontage::upstream {

// What the adapters need to know of the configuration; immutable, replaced whole at a reload.
struct ServerSettings {
  config::ServerUrl url;
  std::shared_ptr<net::TlsClient> tls{};  // of an https URL
  std::string name;
  int weight = 1;
  std::string secret;
  std::size_t packet_size = 8192;
  bool keep_alive = false;       // FastCGI
  std::size_t max_vars = 65535;  // uwsgi, bytes
  config::SendProxy send_proxy = config::SendProxy::off;
  config::Backend::Timeouts timeouts;
  PoolLimits pool;
  wire::HeadLimits response_limits;
};

enum class LeaseKind : std::uint8_t { any, fresh };

class BackendServer : public std::enable_shared_from_this<BackendServer> {
 public:
  BackendServer(std::string backend, ServerSettings settings, std::vector<net::Reactor*> workers,
                observe::Metrics& metrics);
  ~BackendServer();

  // A pooled connection that is known to be alive, or a fresh one. Errors: queue_full, queue_timeout, refused,
  // unresolved, timeout, overload, cancelled; all of class not_sent. `fresh`: never a pooled one, for the one retry
  // after a reused connection closed (ADAPTERS X12 b).
  net::Task<util::Result<Lease>> lease(http::Exchange& exchange, LeaseKind kind);

  std::unique_ptr<BackendConnection> make_connection(std::unique_ptr<net::ByteStream> stream);
  Pool& pool() noexcept { return pool_; }
  const std::string& backend() const noexcept { return backend_; }
  const std::string& name() const noexcept { return name_; }

  // The settings in force; the pointer stays valid as long as it is held.
  std::shared_ptr<const ServerSettings> settings() const;
  // Makes `held` the settings in force; costs one load when it is already.
  void refresh(std::shared_ptr<const ServerSettings>& held) const;
  void apply(ServerSettings settings);
  std::uint64_t idle_ms() const noexcept { return idle_ms_.load(std::memory_order_relaxed); }

  // The addresses its name stands for; empty: not resolved yet. From any thread.
  void set_addresses(std::vector<net::Address> addresses);
  bool resolved() const;

  // Health, passive: after failed connects the server is left out for a while that doubles from 1 s to 30 s; one
  // success ends it (ADAPTERS X19).
  bool usable(std::uint64_t now_ms) const noexcept { return now_ms >= out_until_ms_.load(std::memory_order_relaxed); }
  void note_connect_failure(std::uint64_t now_ms) noexcept;
  void note_connected() noexcept;
  // The server closed a connection that had been idle for `age_ms`. On its worker's thread.
  void note_stale(std::uint64_t now_ms, std::uint64_t age_ms) noexcept;
  // Where adapters tell what is wrong with the server, for people.
  Hints& hints() noexcept { return hints_; }

  // Whether the request can be put into the adapter's words at all; else 431, and the log names what is too large.
  // The adapters whose requests are made of exchange.variables are asked; the others refuse while they encode.
  util::Result<void> check_fit(const http::Exchange& exchange) const;
  // Metric label of the adapter.
  std::string_view adapter_name() const noexcept;
  void count_pick(http::Exchange& exchange) const noexcept;
  void count_failure(http::Exchange& exchange, const util::Error& error) const noexcept;
  void count_retry(http::Exchange& exchange, const util::Error& error) const noexcept;
  void count_sent(http::Exchange& exchange, std::uint64_t payload) const noexcept;
  void count_received(http::Exchange& exchange, std::uint64_t payload) const noexcept;

 private:
  struct Series {
    observe::SeriesId requests, errors, picks, retries, bytes_in, bytes_out, reused, fresh, retry_not_sent,
        retry_reused, tls_full, tls_resumed, tls_failed;
    observe::HistogramId queue;
  };
  using Stream = std::unique_ptr<net::ByteStream>;
  // Made on terms of TLS that a reload has changed since.
  bool is_outdated(const BackendConnection& connection) const;
  net::Task<util::Result<Stream>> open(http::Exchange& exchange, std::shared_ptr<const ServerSettings> held,
                                       net::Address address);
  net::Task<util::Result<Lease>> connect(http::Exchange& exchange);
  std::vector<net::Address> addresses() const;
  void hint_at(const util::Error& connecting) noexcept;

  const std::string backend_;
  const std::string name_;
  const config::Adapter adapter_;
  const bool tls_;  // its URL is https
  Pool pool_;
  Hints hints_;
  Series series_;
  std::vector<observe::Metrics::Callback> gauges_;
  std::atomic<std::uint64_t> idle_ms_{30000};
  std::atomic<bool> sends_proxy_{false};  // a connection tells of one client
  std::atomic<std::uint64_t> out_until_ms_{0};
  std::atomic<std::uint64_t> stale_{0};
  std::atomic<const ServerSettings*> current_{nullptr};  // only compared, never followed
  std::atomic<std::uint32_t> failures_{0};
  std::atomic<std::uint32_t> address_turn_{0};

  mutable std::mutex lock_;
  std::shared_ptr<const ServerSettings> settings_;  // guarded by lock_
  std::vector<net::Address> addresses_;             // guarded by lock_
};

}  // namespace pontage::upstream
