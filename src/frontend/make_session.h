// Which session serves a connection: the one place that knows the protocols of the client's side. Worker's thread.
#pragma once

#include <memory>
#include <string_view>

#include "src/frontend/session_host.h"
#include "src/net/stream.h"
#include "src/net/tls_server.h"
#include "src/util/unique_fd.h"

namespace pontage::frontend {

// By connection.protocol, which accept(), ALPN or HTTP/2's preface has set to one of config::kAlpnProtocols. `received`
// came in already (HTTP/2 only) and stays valid until the session was begun. An HTTP/1 session in the clear hands over
// to HTTP/2 by itself when its client begins with the preface and the rules allow it.
std::unique_ptr<Session> make_session(SessionHost& host, std::unique_ptr<net::ByteStream> stream,
                                      http::ConnectionInfo connection, SessionRules rules,
                                      std::string_view received = {});

// What the clients of a listener come to.
struct Front {
  SessionRules rules;
  std::shared_ptr<const net::TlsServer> tls{};  // nullptr: in the clear
};
// What serves a new connection from its first byte on (behind a PROXY header): a TLS handshake, or an HTTP session.
std::unique_ptr<Session> make_first_session(SessionHost& host, util::UniqueFd fd, http::ConnectionInfo connection,
                                            const Front& front);

}  // namespace pontage::frontend
