// Writes a PROXY header, version 1 or 2, as header.version says. Called by who opens a connection to a server
// (src/upstream/proxy_header); appends to a Sink and keeps nothing. Any thread.
#pragma once

#include <cstddef>

#include "protocols/proxy_protocol/header.h"
#include "protocols/wire/sink.h"

namespace pontage::proxy_protocol {

// Bytes that encode writes at most.
std::size_t room(const Header& header) noexcept;

// Version 1 has words for IP addresses only: all else is UNKNOWN. Paths are at most kUnixPath long, a unique id
// kLongestUniqueId, and all of it kLargestV2.
void encode(wire::Sink& sink, const Header& header);

}  // namespace pontage::proxy_protocol
