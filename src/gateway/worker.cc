#include "src/gateway/worker.h"

#include <sys/socket.h>

#include "src/frontend/http1_session.h"
#include "src/net/recycler.h"
#include "src/observe/log.h"

namespace pontage::gateway {

Worker::Worker(unsigned id, observe::Metrics& metrics, const frontend::SessionSeries& series, observe::AccessRing& log,
               ConnectionCount& count)
    : reactor_(id),
      host_(reactor_, metrics.add_worker(), series, &log),
      metrics_(&metrics),
      count_(&count),
      loop_lag_(metrics.histogram(observe::Family::loop_lag_seconds)) {
  host_.on_removed([this](const http::ConnectionInfo& connection) {
    host_.metrics().gauge_add(connection_series_[connection.listener], -1);
    count_->open.fetch_sub(1, std::memory_order_relaxed);
  });
  reactor_.on_turn([this](util::Cycles spent) { host_.metrics().observe(loop_lag_, util::cycles_to_ns(spent)); });
}

Worker::~Worker() = default;

void Worker::start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "pontage-worker");
    reactor_.run();
    acceptors_.clear();
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

void Worker::open_listener(ListenerSocket listener, util::UniqueFd socket) {
  // std::function wants a copyable thing; the descriptor is none.
  on_worker([this, listener = std::move(listener), fd = socket.release()] {
    auto accepted = [this, listener](util::UniqueFd client, const net::Address& peer) {
      if (listener.hand_over) {
        listener.hand_over(std::move(client), peer);
      } else {
        accept(listener, std::move(client), peer);
      }
    };
    acceptors_[listener.key] = std::make_unique<net::Acceptor>(reactor_, util::UniqueFd(fd), std::move(accepted));
  });
}

void Worker::adopt(const ListenerSocket& listener, util::UniqueFd fd, const net::Address& peer) {
  on_worker([this, listener, raw = fd.release(), peer] { accept(listener, util::UniqueFd(raw), peer); });
}

void Worker::close_listener(const std::string& key) {
  on_worker([this, key] { acceptors_.erase(key); });
}

void Worker::close_all_listeners() {
  on_worker([this] { acceptors_.clear(); });
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

void Worker::accept(const ListenerSocket& listener, util::UniqueFd fd, const net::Address& peer) {
  if (count_->open.load(std::memory_order_relaxed) >= count_->limit.load(std::memory_order_relaxed)) {
    static constexpr std::string_view kBusy =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n";
    [[maybe_unused]] const auto sent = ::send(fd.get(), kBusy.data(), kBusy.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    host_.metrics().add(host_.series().limit_connections);
    observe::log::warn_limited("connections", "limits.connections reached: {} clients; turning one away",
                               count_->limit.load(std::memory_order_relaxed));
    return;
  }
  auto [series, added] = connection_series_.try_emplace(listener.metric_id);
  if (added) series->second = metrics_->gauge(observe::Family::connections, listener.key, "http/1.1");
  http::ConnectionInfo info;
  info.peer = peer;
  const net::Address local = net::local_address(fd.get());
  info.peer_ip = peer.ip_text();
  info.local_ip = local.ip_text();
  info.local_port = local.port();
  info.listener = listener.metric_id;
  auto stream = std::make_unique<net::SocketStream>(reactor_, std::move(fd));
  auto* session = new frontend::Http1Session(host_, std::move(stream), std::move(info), listener.half_close);
  host_.metrics().gauge_add(series->second, 1);
  count_->open.fetch_add(1, std::memory_order_relaxed);
  host_.add(*session);
  session->start();
}

}  // namespace pontage::gateway
