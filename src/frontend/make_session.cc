#include "src/frontend/make_session.h"

#include "src/frontend/http1_session.h"
#include "src/frontend/http2_session.h"
#include "src/frontend/tls_handshake.h"

namespace pontage::frontend {

std::unique_ptr<Session> make_session(SessionHost& host, std::unique_ptr<net::ByteStream> stream,
                                      http::ConnectionInfo connection, SessionRules rules, std::string_view received) {
  if (connection.protocol == kHttp2Name) {
    return std::make_unique<Http2Session>(host, std::move(stream), std::move(connection), rules, received);
  }
  return std::make_unique<Http1Session>(host, std::move(stream), std::move(connection), rules);
}

std::unique_ptr<Session> make_first_session(SessionHost& host, util::UniqueFd fd, http::ConnectionInfo connection,
                                            const Front& front) {
  if (front.tls) {
    const auto patience = config::ms(front.tls->config().handshake);
    auto stream = std::make_unique<net::TlsStream>(host.reactor(), std::move(fd), front.tls);
    return std::make_unique<TlsHandshake>(host, std::move(stream), std::move(connection), front.rules, patience);
  }
  auto stream = std::make_unique<net::SocketStream>(host.reactor(), std::move(fd));
  return make_session(host, std::move(stream), std::move(connection), front.rules);
}

}  // namespace pontage::frontend
