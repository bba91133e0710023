// Which session serves a connection: the one place that knows the protocols of the client's side. Worker's thread.
#pragma once

#include <memory>

#include "src/frontend/session_host.h"
#include "src/net/stream.h"

namespace pontage::frontend {

// By connection.protocol, which accept() or ALPN has set to one of config::kAlpnProtocols.
std::unique_ptr<Session> make_session(SessionHost& host, std::unique_ptr<net::ByteStream> stream,
                                      http::ConnectionInfo connection, config::Listener::HalfClose half_close);

}  // namespace pontage::frontend
