#include "src/gateway/worker.h"

#include <sys/socket.h>

#include "src/frontend/tls_handshake.h"
#include "src/net/recycler.h"
#include "src/observe/log.h"

namespace pontage::gateway {

Worker::Worker(unsigned id, observe::Metrics& metrics, const frontend::SessionSeries& series, observe::AccessRing& log,
               ConnectionCount& count, net::BlockingPool& disk)
    : reactor_(id),
      host_(reactor_, metrics.add_worker(), series, &log, &disk),
      metrics_(&metrics),
      count_(&count),
      loop_lag_(metrics.histogram(observe::Family::loop_lag_seconds)) {
  host_.on_begun([this](const http::ConnectionInfo& connection) {
    host_.metrics().gauge_add(connection_series_[{connection.listener, connection.protocol}], 1);
    count_->open.fetch_add(1, std::memory_order_relaxed);
  });
  host_.on_removed([this](const http::ConnectionInfo& connection) {
    host_.metrics().gauge_add(connection_series_[{connection.listener, connection.protocol}], -1);
    count_->open.fetch_sub(1, std::memory_order_relaxed);
  });
  reactor_.on_turn([this](util::Cycles spent) { host_.metrics().observe(loop_lag_, util::cycles_to_ns(spent)); });
}

Worker::~Worker() = default;

void Worker::start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "pontage-worker");
    reactor_.run();
    listening_.clear();
    net::Recycler::trim();
  });
}

void Worker::stop_and_join() {
  reactor_.stop();
  if (thread_.joinable()) thread_.join();
}

void Worker::on_worker(std::function<void()> work) {
  reactor_.post(std::move(work));
}

void Worker::set_site(std::shared_ptr<const routing::Site> site) {
  if (!thread_.joinable()) {
    host_.set_site(std::move(site));
    return;
  }
  on_worker([this, site = std::move(site)] { host_.set_site(site); });
}

void Worker::open_listener(const std::string& bind, SettingsPtr settings, util::UniqueFd socket, HandOver hand_over) {
  // std::function wants a copyable thing; the descriptor is none.
  on_worker([this, bind, settings = std::move(settings), hand_over = std::move(hand_over), fd = socket.release()] {
    auto& listening = listening_[bind];
    if (!listening) listening = std::make_unique<Listening>(Listening{.settings = settings, .hand_over = hand_over});
    auto accepted = [this, listener = listening.get()](util::UniqueFd client, const net::Address& peer) {
      if (listener->hand_over) {
        listener->hand_over(listener->settings, std::move(client), peer);
      } else {
        accept(*listener->settings, std::move(client), peer);
      }
    };
    listening->acceptors.push_back(std::make_unique<net::Acceptor>(reactor_, util::UniqueFd(fd), std::move(accepted)));
  });
}

void Worker::change_listener(const std::string& bind, SettingsPtr settings) {
  on_worker([this, bind, settings = std::move(settings)] {
    const auto found = listening_.find(bind);
    if (found != listening_.end()) found->second->settings = settings;
  });
}

void Worker::adopt(SettingsPtr settings, util::UniqueFd fd, const net::Address& peer) {
  on_worker([this, settings = std::move(settings), raw = fd.release(), peer] {
    accept(*settings, util::UniqueFd(raw), peer);
  });
}

void Worker::close_listener(const std::string& bind) {
  on_worker([this, bind] { listening_.erase(bind); });
}

void Worker::close_all_listeners() {
  on_worker([this] { listening_.clear(); });
}

void Worker::drain(std::function<void()> empty) {
  on_worker([this, empty = std::move(empty)] {
    host_.on_empty(empty);
    host_.drain();
  });
}

void Worker::cancel_all() {
  on_worker([this] { host_.cancel_all(); });
}

void Worker::cancel_older_than(std::uint64_t generation) {
  on_worker([this, generation] { host_.cancel_older_than(generation); });
}

void Worker::register_connections(const ListenerSettings& settings) {
  const auto add = [&](std::string_view protocol) {
    const auto [series, added] = connection_series_.try_emplace({settings.metric_id, protocol});
    if (added) series->second = metrics_->gauge(observe::Family::connections, settings.name, protocol);
  };
  for (const auto protocol : config::kAlpnProtocols) add(protocol);
  if (settings.front.tls) add(frontend::kHandshakeProtocol);
  if (!settings.proxies.empty()) add(frontend::kIntakeProtocol);
}

// limits.connections is reached. Over TLS a word would cost a handshake.
void Worker::turn_away(const ListenerSettings& settings, int fd) {
  static constexpr std::string_view kBusy =
      "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n";
  if (!settings.front.tls) {
    [[maybe_unused]] const auto sent = ::send(fd, kBusy.data(), kBusy.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  host_.metrics().add(host_.series().limit_connections);
  observe::log::warn_limited("connections", "limits.connections reached: {} clients; turning one away",
                             count_->limit.load(std::memory_order_relaxed));
}

void Worker::accept(const ListenerSettings& settings, util::UniqueFd fd, const net::Address& peer) {
  if (count_->open.load(std::memory_order_relaxed) >= count_->limit.load(std::memory_order_relaxed)) {
    turn_away(settings, fd.get());
    return;
  }
  register_connections(settings);
  http::ConnectionInfo info;
  info.peer = peer;
  const net::Address local = net::local_address(fd.get());
  info.peer_ip = peer.ip_text();
  info.local_ip = local.ip_text();
  info.local_port = local.port();
  info.listener = settings.metric_id;
  info.https_port = settings.redirect_port;
  const bool proxied = !settings.proxies.empty() && settings.proxies.includes(peer);
  if (proxied) {
    host_.begin(std::make_unique<frontend::ProxyIntake>(host_, std::move(fd), std::move(info), settings.front));
  } else {
    host_.begin(frontend::make_first_session(host_, std::move(fd), std::move(info), settings.front));
  }
}

}  // namespace pontage::gateway
