// TlsHandshake: a client connection until its TLS handshake is over. Then the session of the protocol that ALPN agreed
// on takes the stream, and this one ends. Worker's thread; destroyed through its host.
#pragma once

#include <memory>

#include "src/frontend/session_host.h"
#include "src/net/tls_stream.h"

namespace pontage::frontend {

// connection.protocol of a connection that is not through with it.
inline constexpr std::string_view kHandshakeProtocol = "tls";

class TlsHandshake final : public Session {
 public:
  TlsHandshake(SessionHost& host, std::unique_ptr<net::TlsStream> stream, http::ConnectionInfo connection,
               SessionRules rules, std::uint64_t patience_ms);
  ~TlsHandshake() override;

  void start() override;
  void drain() noexcept override { fiber_.cancel(); }
  void cancel() noexcept override { fiber_.cancel(); }
  void cancel_older_than(std::uint64_t) noexcept override {}
  const http::ConnectionInfo& connection() const noexcept override { return connection_; }

 private:
  net::Task<void> run();
  void note_failure(const util::Error& error);
  net::Task<void> answer_plain_http();
  void count(Handshake result) noexcept;
  static void on_done(void* self) noexcept;

  SessionHost* host_;
  std::unique_ptr<net::TlsStream> stream_;
  http::ConnectionInfo connection_;
  net::Fiber fiber_;
  SessionRules rules_;
  std::uint64_t patience_ms_;
  std::unique_ptr<Session> next_;
};

}  // namespace pontage::frontend
