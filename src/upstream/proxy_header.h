// The PROXY header that a new connection to a server begins with (backends{}.send_proxy): who the client of the
// exchange is, as its connection says. Worker's thread.
#pragma once

#include <string>

#include "src/config/config.h"
#include "src/http/exchange.h"
#include "src/net/stream.h"

namespace pontage::upstream {

// The header's bytes. Without a client, as for probes, it says LOCAL (version 1: UNKNOWN); a client of a unix socket
// has no address that would mean anything elsewhere: UNKNOWN, and no family. `version` is not `off`.
std::string make_proxy_header(const http::ConnectionInfo& client, config::SendProxy version);

// Sends it on a connection without TLS yet. More follows at once, so that it leaves together with that.
net::Task<util::Result<void>> send_proxy_header(net::ByteStream& stream, const http::ConnectionInfo& client,
                                                config::SendProxy version, std::uint64_t patience_ms);

}  // namespace pontage::upstream
