// The head of a CGI response (RFC 3875 6), outgoing, as an application server sends it: for the reference origin and
// for tests. Appends to a Sink; the caller checks overflowed(). Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocols/message/head.h"
#include "protocols/wire/sink.h"

namespace pontage::cgi {

// How the status is told: "Status: 200 OK" among the fields, or "HTTP/1.1 200 OK" before them, as uWSGI does.
enum class StatusStyle : std::uint8_t { field, line };

// Bytes that encode_response_head writes at most.
std::size_t response_head_room(const message::ResponseHead& head) noexcept;

// The head with its empty line. An exact body has a Content-Length; any other ends with its stream.
void encode_response_head(wire::Sink& sink, const message::ResponseHead& head, StatusStyle style);

}  // namespace pontage::cgi
