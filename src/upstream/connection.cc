#include "src/upstream/connection.h"

#include "src/upstream/pool.h"
#include "src/upstream/server.h"

namespace pontage::upstream {

BackendConnection::BackendConnection(std::shared_ptr<BackendServer> server,
                                     std::unique_ptr<net::ByteStream> stream) noexcept
    : stream_(std::move(stream)), server_(std::move(server)) {}

BackendConnection::~BackendConnection() = default;

net::Task<util::Result<void>> BackendConnection::send_first(std::span<iovec> pieces, std::uint64_t idle_ms) {
  const net::IoResult put = stream_->try_write(pieces, net::More::no);
  if (put.status == net::IoStatus::error) {
    util::Error error = net::io_error(put, util::Source::server, "send");
    error.retry = util::RetryClass::not_sent;
    co_return util::Failure(error);
  }
  const auto left = net::behind(pieces, put.bytes);
  if (left.empty()) co_return util::Result<void>{};
  const auto rest =
      co_await net::write_all(*stream_, left, net::More::no, idle_ms, observe::Phase::server, util::Source::server);
  co_return rest;
}

void BackendConnection::finish(Reuse reuse) noexcept {
  std::unique_ptr<BackendConnection> self(this);
  const auto server = server_;
  // Bytes or an end that are there already belong to no exchange (ADAPTERS X20).
  const bool usable = reuse == Reuse::yes && !stream_->maybe_readable() && !stream_->peer_closed();
  if (usable && !one_exchange_) {
    server->pool().give_back(std::move(self));
    return;
  }
  // Nothing is on its way any more; in order, the port would stay in TIME_WAIT.
  if (usable) stream_->abort_on_close();
  self.reset();
  server->pool().forget();
}

void BackendConnection::on_hangup(void* self) noexcept {
  auto* connection = static_cast<BackendConnection*>(self);
  const std::uint64_t now = connection->reactor().now_ms();
  connection->server_->note_stale(now, now - connection->idle_since_ms_);
  connection->server_->pool().idle_ended(*connection);
}

void BackendConnection::on_timer(net::Timer& timer) noexcept {
  auto& self = *static_cast<IdleTimer&>(timer).connection;
  if (!self.idle_) return;
  const std::uint64_t due = self.idle_since_ms_ + self.server_->idle_ms();
  if (due > self.reactor().now_ms()) {
    self.reactor().wheel().schedule(timer, due);
    return;
  }
  self.server_->pool().idle_ended(self);
}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    discard();
    connection_ = std::move(other.connection_);
  }
  return *this;
}

void Lease::discard() noexcept {
  if (!connection_) return;
  const auto server = connection_->shared_server();
  connection_.reset();
  server->pool().forget();
}

}  // namespace pontage::upstream
