// What changes in a head on its way through: hop-by-hop fields go (RFC 9110 7.6.1; ADAPTERS X2), X-Forwarded-*,
// Forwarded (RFC 7239), Via, X-Request-Id and traceparent are set, and the client is identified behind trusted proxies.
// Worker's thread.
#pragma once

#include <cstddef>
#include <vector>

#include "protocols/message/head.h"
#include "protocols/wire/sink.h"
#include "src/http/exchange.h"
#include "src/net/address.h"

namespace pontage::http {

struct ForwardingPolicy {
  std::vector<net::Network> trusted;  // proxies whose X-Forwarded-* are believed; none by default
  bool rfc7239 = false;               // also send Forwarded
};

// Fills exchange.client. Only a trusted peer's fields count; X-Forwarded-For is walked from the right to the first
// address that is not trusted.
void identify_client(Exchange& exchange, const ForwardingPolicy& policy);

// Fills exchange.forward_headers, request_id and trace_id from the request. Our fields are added after the client's
// were removed, so no Connection header can delete them (CASES P19). Names with '_' that would read as a known field
// are dropped (ADAPTERS E4), and so is Proxy.
void make_forward_headers(Exchange& exchange, const ForwardingPolicy& policy);

// Fills exchange.request_id (kept when a trusted peer sent a well-formed one).
void make_request_id(Exchange& exchange, const ForwardingPolicy& policy);

// The request head for an HTTP/1.1 server: exactly one Host, forward_headers, framing from the decoded request. At most
// kLargestHead bytes.
inline constexpr std::size_t kLargestHead = 160 * 1024;
void encode_forwarded_head(wire::Sink& sink, const Exchange& exchange);

// Makes a server's response head fit for any client: hop-by-hop fields and those Connection names are gone,
// Content-Length and Transfer-Encoding too (head.body says it), except the Content-Length of a bodyless answer to HEAD
// or a 304 (ADAPTERS X11).
void strip_response_head(message::ResponseHead& head);

// The trailer fields that may go on to a client: none that frames, routes, authenticates or describes the content (RFC
// 9110 6.5.1; ADAPTERS X5).
message::HeaderList forwardable_trailers(const message::HeaderList& trailers, message::Arena& arena);

}  // namespace pontage::http
