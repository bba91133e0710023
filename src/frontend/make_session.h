// Which session serves a connection: the one place that knows the protocols of the client's side. Worker's thread.
#pragma once

#include <memory>
#include <string_view>

#include "src/frontend/session_host.h"
#include "src/net/stream.h"

namespace pontage::frontend {

// By connection.protocol, which accept(), ALPN or HTTP/2's preface has set to one of config::kAlpnProtocols. `received`
// came in already (HTTP/2 only) and stays valid until the session was begun. An HTTP/1 session in the clear hands over
// to HTTP/2 by itself when its client begins with the preface and the rules allow it.
std::unique_ptr<Session> make_session(SessionHost& host, std::unique_ptr<net::ByteStream> stream,
                                      http::ConnectionInfo connection, SessionRules rules,
                                      std::string_view received = {});

}  // namespace pontage::frontend
