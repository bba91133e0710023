// ProxyIntake: the connection of a trusted proxy until its PROXY header has come. The header is read to its last byte
// and no further; then the session that the listener's clients come to takes the descriptor, with the addresses that
// the header told, and this one ends. Whoever sends no header, or a wrong one, is cut off. Worker's thread; destroyed
// through its host.
#pragma once

#include <memory>
#include <vector>

#include "protocols/proxy_protocol/decoder.h"
#include "src/frontend/make_session.h"
#include "src/frontend/session_host.h"
#include "src/net/address.h"

namespace pontage::frontend {

// connection.protocol of a connection that is not through with it.
inline constexpr std::string_view kIntakeProtocol = "proxy";

// Who must begin with a header.
struct ProxyTrust {
  std::vector<net::Network> networks{};
  bool unix_sockets = false;

  bool empty() const noexcept { return networks.empty() && !unix_sockets; }
  bool includes(const net::Address& peer) const noexcept;
};

// The addresses of a whole header, where it tells any, and what else it says, put into `connection`.
void believe(const proxy_protocol::Header& header, http::ConnectionInfo& connection);

class ProxyIntake final : public Session {
 public:
  ProxyIntake(SessionHost& host, util::UniqueFd fd, http::ConnectionInfo connection, Front front);
  ~ProxyIntake() override;

  void start() override;
  void drain() noexcept override { fiber_.cancel(); }
  void cancel() noexcept override { fiber_.cancel(); }
  void cancel_older_than(std::uint64_t) noexcept override {}
  const http::ConnectionInfo& connection() const noexcept override { return connection_; }

 private:
  enum class End : std::uint8_t { not_yet, whole, refused, timeout, aborted };
  net::Task<void> run();
  net::Task<End> read_header(net::Deadline deadline);
  End take(std::string_view peeked);
  void refuse(End end);
  void count(ProxyHeader result) noexcept;
  static void on_done(void* self) noexcept;

  SessionHost* host_;
  std::unique_ptr<net::SocketStream> stream_;
  http::ConnectionInfo connection_;
  net::Fiber fiber_;
  Front front_;
  proxy_protocol::Decoder decoder_;
  wire::DecodeError error_{};
  std::unique_ptr<Session> next_;
};

}  // namespace pontage::frontend
