#include "src/upstream/server.h"

#include <algorithm>

#include "src/net/connect.h"
#include "src/net/tls_stream.h"
#include "src/observe/log.h"
#include "src/upstream/ajp_connection.h"
#include "src/upstream/fastcgi_connection.h"
#include "src/upstream/http_connection.h"
#include "src/upstream/proxy_header.h"
#include "src/upstream/scgi_connection.h"

namespace pontage::upstream {

using observe::Family;
using util::ErrorKind;
using util::RetryClass;
using util::Source;

namespace {

constexpr std::uint64_t kFirstOutMs = 1000;
constexpr std::uint64_t kLongestOutMs = 30'000;
constexpr std::uint64_t kProbeAfterIdleMs = 1000;  // ADAPTERS A28: probe before reuse when idle for longer

}  // namespace

BackendServer::BackendServer(std::string backend, ServerSettings settings, std::vector<net::Reactor*> workers,
                             observe::Metrics& metrics)
    : backend_(std::move(backend)),
      name_(settings.name),
      adapter_(settings.url.adapter),
      tls_(settings.url.tls),
      pool_(*this, std::move(workers)),
      hints_(backend_, name_) {
  const auto& b = backend_;
  const auto& n = name_;
  series_ = {.requests = metrics.counter(Family::backend_server_requests_total, b, n),
             .errors = metrics.counter(Family::backend_server_errors_total, b, n),
             .picks = metrics.counter(Family::backend_server_picks_total, b, n),
             .retries = metrics.counter(Family::backend_server_retries_total, b, n),
             .bytes_in = metrics.counter(Family::backend_server_bytes_in_total, b, n),
             .bytes_out = metrics.counter(Family::backend_server_bytes_out_total, b, n),
             .reused = metrics.counter(Family::backend_connection_reuse_total, b, n, "reused"),
             .fresh = metrics.counter(Family::backend_connection_reuse_total, b, n, "fresh"),
             .retry_not_sent = metrics.counter(Family::backend_retries_total, b, "not_sent"),
             .retry_reused = metrics.counter(Family::backend_retries_total, b, "reused_closed"),
             .tls_full = metrics.counter(Family::backend_tls_handshakes_total, b, n, "full"),
             .tls_resumed = metrics.counter(Family::backend_tls_handshakes_total, b, n, "resumed"),
             .tls_failed = metrics.counter(Family::backend_tls_handshakes_total, b, n, "failed"),
             .queue = metrics.histogram(Family::backend_queue_duration_seconds, b)};
  gauges_.push_back(metrics.callback_gauge(Family::backend_connections, {b, n, "idle"},
                                           [this] { return double(pool_.gauges().idle); }));
  gauges_.push_back(metrics.callback_gauge(Family::backend_connections, {b, n, "busy"}, [this] {
    const auto now = pool_.gauges();
    return double(now.open - now.idle);
  }));
  gauges_.push_back(metrics.callback_gauge(Family::backend_server_in_flight, {b, n}, [this] {
    const auto now = pool_.gauges();
    return double(now.open - now.idle + now.waiting);
  }));
  gauges_.push_back(
      metrics.callback_gauge(Family::backend_queue_length, {b}, [this] { return double(pool_.gauges().waiting); }));
  gauges_.push_back(metrics.callback_gauge(Family::backend_server_weight, {b, n},
                                           [this] { return double(this->settings()->weight); }));
  gauges_.push_back(metrics.callback_gauge(Family::backend_server_up, {b, n}, [this] {
    const bool reachable = adapter_ == config::Adapter::cgi || resolved();
    return reachable && usable(util::monotonic_ns() / 1'000'000) ? 1.0 : 0.0;
  }));
  gauges_.push_back(metrics.callback_counter(Family::backend_connection_reuse_total, {b, n, "stale"},
                                             [this] { return double(stale_.load(std::memory_order_relaxed)); }));
  apply(std::move(settings));
}

// The gauges read members that would be gone before them.
BackendServer::~BackendServer() {
  gauges_.clear();
}

void BackendServer::refresh(std::shared_ptr<const ServerSettings>& held) const {
  if (held.get() == current_.load(std::memory_order_acquire)) return;
  held = settings();
}

std::shared_ptr<const ServerSettings> BackendServer::settings() const {
  const std::lock_guard guard(lock_);
  return settings_;
}

void BackendServer::apply(ServerSettings settings) {
  pool_.set_limits(settings.pool);
  idle_ms_.store(settings.pool.idle_ms, std::memory_order_relaxed);
  sends_proxy_.store(settings.send_proxy != config::SendProxy::off, std::memory_order_relaxed);
  const std::lock_guard guard(lock_);
  settings_ = std::make_shared<const ServerSettings>(std::move(settings));
  current_.store(settings_.get(), std::memory_order_release);
}

void BackendServer::set_addresses(std::vector<net::Address> addresses) {
  const std::lock_guard guard(lock_);
  addresses_ = std::move(addresses);
}

std::vector<net::Address> BackendServer::addresses() const {
  const std::lock_guard guard(lock_);
  return addresses_;
}

bool BackendServer::resolved() const {
  const std::lock_guard guard(lock_);
  return !addresses_.empty();
}

std::unique_ptr<BackendConnection> BackendServer::make_connection(std::unique_ptr<net::ByteStream> stream) {
  auto self = shared_from_this();
  switch (adapter_) {
    case config::Adapter::http: return std::make_unique<HttpConnection>(std::move(self), std::move(stream));
    case config::Adapter::ajp: return std::make_unique<AjpConnection>(std::move(self), std::move(stream));
    case config::Adapter::fastcgi: return std::make_unique<FastCgiConnection>(std::move(self), std::move(stream));
    case config::Adapter::scgi:
      return std::make_unique<ScgiConnection>(std::move(self), std::move(stream), BlockEncoding::scgi);
    case config::Adapter::uwsgi:
      return std::make_unique<ScgiConnection>(std::move(self), std::move(stream), BlockEncoding::uwsgi);
    case config::Adapter::cgi: return nullptr;  // processes are started, and none is kept
  }
  return nullptr;
}

bool BackendServer::is_outdated(const BackendConnection& connection) const {
  if (!tls_) return false;
  const auto held = settings();
  if (!held->tls) return false;
  const net::TlsClient* made_for = static_cast<const net::TlsStream&>(connection.stream()).client();
  return made_for == nullptr || !made_for->has_terms_of(*held->tls);
}

net::Task<util::Result<Lease>> BackendServer::lease(http::Exchange& exchange, LeaseKind kind) {
  for (;;) {
    auto granted = co_await pool_.acquire(exchange.reactor());
    if (!granted) {
      util::Error error = granted.error();
      if (error.kind != ErrorKind::cancelled) error.retry = RetryClass::not_sent;
      co_return util::Failure(error);
    }
    // Where connections tell of their client, those that idle are from before a reload, and tell of none.
    const bool only_fresh = kind == LeaseKind::fresh || sends_proxy_.load(std::memory_order_relaxed);
    const bool unfit = granted->connection && (only_fresh || is_outdated(*granted->connection));
    if (unfit) granted->connection.reset();  // its place is used for the new one
    if (!granted->connection) {
      auto opened = co_await connect(exchange);
      co_return opened;
    }
    Lease lease(std::move(granted->connection));
    const bool rested = exchange.reactor().now_ms() - lease->idle_since_ms() > kProbeAfterIdleMs;
    bool alive = true;
    if (rested) alive = co_await lease->probe();
    // A client that left says nothing about the server.
    if (exchange.fiber->cancelled()) co_return util::fail(ErrorKind::cancelled, Source::client, "lease");
    // A dead one is discarded by the lease; the next turn of the loop takes another or opens one.
    if (!alive) continue;
    exchange.metrics->add(series_.reused);
    co_return std::move(lease);
  }
}

// A stream that is ready for the first request: behind a PROXY header, with TLS where the URL is https.
net::Task<util::Result<BackendServer::Stream>> BackendServer::open(http::Exchange& exchange,
                                                                   std::shared_ptr<const ServerSettings> held,
                                                                   net::Address address) {
  const auto patience = config::ms(held->timeouts.connect);
  const net::Deadline deadline = exchange.reactor().after(patience);
  auto opened = co_await net::connect(exchange.reactor(), address, deadline);
  if (opened && held->send_proxy != config::SendProxy::off) {
    const auto told = co_await send_proxy_header(**opened, *exchange.connection, held->send_proxy, patience);
    if (!told) co_return util::Failure(told.error());
  }
  if (!opened || !held->url.tls) co_return opened;
  auto stream = std::make_unique<net::TlsStream>(exchange.reactor(), (*opened)->release(), held->tls);
  const auto agreed = co_await stream->handshake(deadline, observe::Phase::connect, Source::server);
  if (agreed) {
    exchange.metrics->add(stream->resumed() ? series_.tls_resumed : series_.tls_full);
    co_return Stream(std::move(stream));
  }
  util::Error error = agreed.error();
  error.retry = RetryClass::not_sent;
  if (error.kind != ErrorKind::cancelled) {
    exchange.metrics->add(series_.tls_failed);
    hints_.note(Symptom::tls_failed, error.detail);
  }
  co_return util::Failure(error);
}

// Opens a connection; the caller has a counted place in the pool for it.
net::Task<util::Result<Lease>> BackendServer::connect(http::Exchange& exchange) {
  net::Reactor& reactor = exchange.reactor();
  const auto all = addresses();
  util::Error error{
      .kind = ErrorKind::unresolved, .source = Source::server, .retry = RetryClass::not_sent, .detail = "name"};
  const auto held = settings();
  const std::size_t first = address_turn_.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto opened = co_await open(exchange, held, all[(first + i) % all.size()]);
    if (opened) {
      note_connected();
      exchange.metrics->add(series_.fresh);
      Lease lease(make_connection(std::move(*opened)));
      if (held->send_proxy != config::SendProxy::off) lease->serve_one_exchange();
      const bool alive = co_await lease->probe();
      if (exchange.fiber->cancelled()) co_return util::fail(ErrorKind::cancelled, Source::client, "lease");
      if (alive) co_return std::move(lease);
      // lease's discard frees the place
      note_connect_failure(reactor.now_ms());
      co_return util::Failure(util::Error{
          .kind = ErrorKind::timeout, .source = Source::server, .retry = RetryClass::not_sent, .detail = "CPING"});
    }
    error = opened.error();
    if (error.kind == ErrorKind::cancelled) break;
  }
  pool_.forget();
  hint_at(error);
  if (error.source == Source::server) note_connect_failure(reactor.now_ms());
  co_return util::Failure(error);
}

void BackendServer::hint_at(const util::Error& connecting) noexcept {
  const auto held = settings();
  const bool unix_socket = !held->url.unix_path.empty();
  const auto symptom = symptom_of_connect(connecting, unix_socket);
  if (symptom) hints_.note(*symptom, unix_socket ? held->url.unix_path : held->url.text);
}

void BackendServer::note_connect_failure(std::uint64_t now_ms) noexcept {
  // While it is left out, a request that had nowhere else to go tells nothing new.
  if (!usable(now_ms)) return;
  const std::uint32_t failures = failures_.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t out = std::min(kFirstOutMs << std::min(failures, 5U), kLongestOutMs);
  out_until_ms_.store(now_ms + out, std::memory_order_relaxed);
  observe::log::warn_limited(name_, "backend {} server {}: connect failed, left out for {} ms", backend_, name_, out);
}

void BackendServer::note_connected() noexcept {
  if (failures_.load(std::memory_order_relaxed) == 0) return;
  failures_.store(0, std::memory_order_relaxed);
  out_until_ms_.store(0, std::memory_order_relaxed);
}

void BackendServer::note_stale(std::uint64_t now_ms, std::uint64_t age_ms) noexcept {
  stale_.fetch_add(1, std::memory_order_relaxed);
  hints_.note_idle_closing(now_ms, age_ms);
}

util::Result<void> BackendServer::check_fit(const http::Exchange& exchange) const {
  switch (adapter_) {
    case config::Adapter::http:
    case config::Adapter::ajp:
    case config::Adapter::scgi:
    case config::Adapter::cgi: return {};
    case config::Adapter::fastcgi: return FastCgiConnection::check_fit(*exchange.variables, *this);
    case config::Adapter::uwsgi:
      return ScgiConnection::check_fit(*exchange.variables, *this, this->settings()->max_vars);
  }
  return {};
}

std::string_view BackendServer::adapter_name() const noexcept {
  return config::to_string(adapter_);
}

void BackendServer::count_pick(http::Exchange& exchange) const noexcept {
  exchange.metrics->add(series_.picks);
  exchange.metrics->add(series_.requests);
}

void BackendServer::count_failure(http::Exchange& exchange, const util::Error& error) const noexcept {
  // A client that left, or sent nonsense, is no fault of the server (ADAPTERS X18).
  if (error.source == Source::server) exchange.metrics->add(series_.errors);
}

void BackendServer::count_retry(http::Exchange& exchange, const util::Error& error) const noexcept {
  exchange.metrics->add(series_.retries);
  exchange.metrics->add(error.retry == RetryClass::not_sent ? series_.retry_not_sent : series_.retry_reused);
}

void BackendServer::count_sent(http::Exchange& exchange, std::uint64_t payload) const noexcept {
  exchange.metrics->add(series_.bytes_out, payload);
}

void BackendServer::count_received(http::Exchange& exchange, std::uint64_t payload) const noexcept {
  exchange.metrics->add(series_.bytes_in, payload);
}

}  // namespace pontage::upstream
