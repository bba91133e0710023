// BackendConnection: one connection to an application server, speaking one adapter's protocol. Leased for one exchange
// at a time; while idle it belongs to its server's pool and is watched for the server closing it. Worker's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "src/http/exchange.h"
#include "src/http/response.h"
#include "src/net/stream.h"
#include "src/util/intrusive_list.h"

namespace pontage::upstream {

class BackendServer;

// Why a connection leaves an exchange: whether the next request may use it.
enum class Reuse : std::uint8_t { yes, no };

class BackendConnection : public util::ListHook {
 public:
  BackendConnection(std::shared_ptr<BackendServer> server, std::unique_ptr<net::ByteStream> stream) noexcept;
  virtual ~BackendConnection();

  // Sends the exchange's request and returns the response head with a body that keeps this connection until it is
  // dropped (a bodyless response gives it back at once). On success the connection has taken itself over from the
  // lease; on error the lease still holds it and must discard it. Errors carry the retry class (ADAPTERS X12).
  virtual net::Task<util::Result<http::Response>> round_trip(http::Exchange& exchange) = 0;
  // Before an idle connection is used again: false when the protocol's own probe says it is dead (ADAPTERS A28).
  virtual net::Task<bool> probe() { co_return true; }

  BackendServer& server() const noexcept { return *server_; }
  const std::shared_ptr<BackendServer>& shared_server() const noexcept { return server_; }
  net::ByteStream& stream() const noexcept { return *stream_; }
  net::Reactor& reactor() const noexcept { return stream_->reactor(); }
  // Exchanges completed on it; 0 while it is fresh.
  std::uint64_t uses() const noexcept { return uses_; }
  std::uint64_t idle_since_ms() const noexcept { return idle_since_ms_; }
  // It has told the server who its client is: it is closed after this exchange, whatever the adapter thinks.
  void serve_one_exchange() noexcept { one_exchange_ = true; }

 protected:
  // Sends the first bytes of a request (the array is changed). A failure before one was taken is of class not_sent: the
  // server had closed already.
  net::Task<util::Result<void>> send_first(std::span<iovec> pieces, std::uint64_t idle_ms);
  // The exchange is over: back to the pool, or closed. The last act: the connection may be gone afterwards.
  void finish(Reuse reuse) noexcept;

  std::unique_ptr<net::ByteStream> stream_;

 private:
  friend class Pool;
  struct IdleTimer : net::Timer {
    explicit IdleTimer(BackendConnection& c) noexcept : Timer(&BackendConnection::on_timer), connection(&c) {}
    BackendConnection* connection;
  };
  static void on_timer(net::Timer& timer) noexcept;
  static void on_hangup(void* self) noexcept;

  std::shared_ptr<BackendServer> server_;
  IdleTimer idle_timer_{*this};
  std::uint64_t uses_ = 0;
  std::uint64_t idle_since_ms_ = 0;
  bool idle_ = false;
  bool one_exchange_ = false;
  bool probed_ = false;  // the kernel looks after it while it is silent
};

// The right to use one connection for one exchange. Dropping it closes the connection; a completed round_trip has
// released it.
class Lease {
 public:
  Lease() noexcept = default;
  explicit Lease(std::unique_ptr<BackendConnection> connection) noexcept : connection_(std::move(connection)) {}
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() { discard(); }

  BackendConnection* operator->() const noexcept { return connection_.get(); }
  explicit operator bool() const noexcept { return connection_ != nullptr; }
  // The connection looks after itself from now on.
  void release() noexcept { static_cast<void>(connection_.release()); }
  // Closes the connection and frees its place in the pool.
  void discard() noexcept;

 private:
  std::unique_ptr<BackendConnection> connection_;
};

}  // namespace pontage::upstream
