#include "src/http/forwarding.h"

#include <algorithm>
#include <charconv>

#include "protocols/http1/encoder.h"
#include "protocols/wire/ascii.h"
#include "src/http/random_id.h"

namespace pontage::http {

using message::Header;
using message::HeaderId;

namespace {

bool is_trusted(const net::Address& address, const ForwardingPolicy& policy) noexcept {
  return std::any_of(policy.trusted.begin(), policy.trusted.end(),
                     [&](const net::Network& network) { return network.contains(address); });
}

// Walks X-Forwarded-For from the right; leaves in `client.ip` the first address that is no trusted proxy, and in
// forwarded_for everything from it on to the right: only that part is known to be true.
void walk_forwarded_for(std::string_view field, const ForwardingPolicy& policy, ClientIdentity& client) {
  std::size_t end = field.size();
  std::size_t known_from = end;
  while (end > 0) {
    const auto comma = field.rfind(',', end - 1);
    const std::size_t start = comma == std::string_view::npos ? 0 : comma + 1;
    const auto hop = wire::trim_ows(field.substr(start, end - start));
    const auto address = net::Address::from_ip(hop, 0);
    if (!address) break;
    client.ip = hop;
    known_from = start;
    if (!is_trusted(*address, policy) || start == 0) break;
    end = start - 1;
  }
  client.forwarded_for = wire::trim_ows(field.substr(known_from));
}

std::string_view decimal(message::Arena& arena, unsigned value) {
  const auto room = arena.chars(6);
  const auto done = std::to_chars(room.data(), room.data() + room.size(), value);
  return {room.data(), static_cast<std::size_t>(done.ptr - room.data())};
}

// Fields the gateway answers for; the client's own never pass.
bool is_ours(HeaderId id) noexcept {
  switch (id) {
    case HeaderId::client_cert:
    case HeaderId::client_cert_chain:
    case HeaderId::x_forwarded_client_cert:
    case HeaderId::host:
    case HeaderId::content_length:
    case HeaderId::expect:
    case HeaderId::forwarded:
    case HeaderId::proxy:
    case HeaderId::traceparent:
    case HeaderId::via:
    case HeaderId::x_forwarded_for:
    case HeaderId::x_forwarded_host:
    case HeaderId::x_forwarded_port:
    case HeaderId::x_forwarded_proto:
    case HeaderId::x_request_id: return true;
    default: return message::is_hop_by_hop(id);
  }
}

// "X_Forwarded_For" reads as X-Forwarded-For to every CGI-like server.
bool mimics_known_field(std::string_view name) noexcept {
  if (name.find('_') == std::string_view::npos || name.size() > 64) return false;
  char dashed[64];
  std::replace_copy(name.begin(), name.end(), dashed, '_', '-');
  return message::lookup_header({dashed, name.size()}) != HeaderId::unknown;
}

// Whether a Connection field of this list names the header.
bool named_by_connection(const message::HeaderList& headers, std::string_view name) noexcept {
  for (const Header& h : headers) {
    if (h.id == HeaderId::connection && wire::list_has(h.value, name)) return true;
  }
  return false;
}

// True when Connection names anything beside the two common words: only then is it worth looking field by field.
bool connection_names_fields(const message::HeaderList& headers) noexcept {
  bool names = false;
  for (const Header& h : headers) {
    if (h.id != HeaderId::connection) continue;
    wire::for_each_element(h.value, [&](std::string_view word) {
      names = names || (!wire::iequals(word, "keep-alive") && !wire::iequals(word, "close"));
    });
  }
  return names;
}

bool is_well_formed_id(std::string_view id) noexcept {
  return id.size() >= 8 && id.size() <= 128 && std::all_of(id.begin(), id.end(), [](char c) {
           return wire::is_digit(c) || wire::is_alpha(c) || c == '-' || c == '_' || c == '.';
         });
}

bool is_lower_hex(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return wire::is_digit(c) || (c >= 'a' && c <= 'f'); });
}

// W3C Trace Context: version 00, 32 digits, 16 digits, neither all 0, 2 digits.
bool is_traceparent(std::string_view text) noexcept {
  return text.size() == 55 && text.starts_with("00-") && text[35] == '-' && text[52] == '-' &&
         is_lower_hex(text.substr(3, 32)) && is_lower_hex(text.substr(36, 16)) && is_lower_hex(text.substr(53)) &&
         text.substr(3, 32).find_first_not_of('0') != std::string_view::npos &&
         text.substr(36, 16).find_first_not_of('0') != std::string_view::npos;
}

// The trace goes on with this hop as the parent; a missing or malformed one starts anew.
std::string_view make_traceparent(Exchange& exchange) {
  const auto room = exchange.arena.chars(55);
  const std::string_view theirs = exchange.request.headers.value(HeaderId::traceparent);
  std::copy_n("00-", 3, room.data());
  random_hex(room.subspan(3, 49));
  room[35] = '-';
  std::copy_n("-01", 3, room.data() + 52);
  if (is_traceparent(theirs)) {
    std::copy_n(theirs.data() + 3, 32, room.data() + 3);
    std::copy_n(theirs.data() + 53, 2, room.data() + 53);
  }
  exchange.trace_id = {room.data() + 3, 32};
  return {room.data(), room.size()};
}

std::string_view make_forwarded(Exchange& exchange) {
  const ClientIdentity& client = exchange.client;
  const bool v6 = client.ip.find(':') != std::string_view::npos;
  return exchange.arena.join(
      {"for=", v6 ? "\"[" : "", client.ip, v6 ? "]\"" : "", ";host=\"", client.host, "\";proto=", client.scheme});
}

std::string_view via_here(message::Version version) noexcept {
  if (version == message::kHttp10) return "1.0 pontage";
  return version == message::kHttp2 ? "2.0 pontage" : "1.1 pontage";
}

// The value of a field that must be there once; twice says nothing.
std::string_view only_value(const message::HeaderList& headers, HeaderId id) noexcept {
  return headers.count(id) == 1 ? headers.value(id) : std::string_view{};
}

}  // namespace

void identify_client(Exchange& exchange, const ForwardingPolicy& policy) {
  const ConnectionInfo& connection = *exchange.connection;
  ClientIdentity& client = exchange.client;
  client.ip = connection.peer_ip;
  client.scheme = connection.tls || (connection.told && connection.told->tls) ? "https" : "http";
  client.host = exchange.request.authority;
  client.port = exchange.request.port != 0 ? exchange.request.port : connection.local_port;
  if (policy.trusted.empty() || !is_trusted(connection.peer, policy)) return;
  const message::HeaderList& headers = exchange.request.headers;
  // Several fields are one list (RFC 9110 5.3): a proxy may have added a line of its own below the client's.
  std::string_view hops;
  for (const Header& h : headers) {
    if (h.id != HeaderId::x_forwarded_for) continue;
    hops = hops.empty() ? h.value : exchange.arena.join({hops, ", ", h.value});
  }
  if (!hops.empty()) walk_forwarded_for(hops, policy, client);
  const std::string_view proto = only_value(headers, HeaderId::x_forwarded_proto);
  if (proto == "http" || proto == "https") client.scheme = proto;
  const std::string_view host = only_value(headers, HeaderId::x_forwarded_host);
  if (!host.empty() && message::parse_authority(host)) client.host = host;
  const auto port = wire::parse_decimal(only_value(headers, HeaderId::x_forwarded_port));
  if (port && *port > 0 && *port < 65536) client.port = static_cast<std::uint16_t>(*port);
}

void make_request_id(Exchange& exchange, const ForwardingPolicy& policy) {
  const std::string_view theirs = exchange.request.headers.value(HeaderId::x_request_id);
  if (!theirs.empty() && is_well_formed_id(theirs) && is_trusted(exchange.connection->peer, policy)) {
    exchange.request_id = theirs;
    return;
  }
  const auto room = exchange.arena.chars(32);
  random_hex(room);
  exchange.request_id = {room.data(), room.size()};
}

void make_forward_headers(Exchange& exchange, const ForwardingPolicy& policy) {
  const message::HeaderList& theirs = exchange.request.headers;
  message::HeaderList ours(exchange.arena);
  const bool names_fields = connection_names_fields(theirs);
  std::string_view via;
  for (const Header& h : theirs) {
    if (h.id == HeaderId::via) via = via.empty() ? h.value : exchange.arena.join({via, ", ", h.value});
    if (is_ours(h.id) || (names_fields && named_by_connection(theirs, h.name))) continue;
    if (h.id == HeaderId::unknown && mimics_known_field(h.name)) continue;
    ours.add(h.name, h.value, h.id);
  }
  message::Arena& arena = exchange.arena;
  const ClientIdentity& client = exchange.client;
  const std::string_view peer = exchange.connection->peer_ip;
  ours.add(HeaderId::x_forwarded_for,
           client.forwarded_for.empty() ? peer : arena.join({client.forwarded_for, ", ", peer}));
  ours.add(HeaderId::x_forwarded_proto, client.scheme);
  if (!client.host.empty()) ours.add(HeaderId::x_forwarded_host, client.host);
  ours.add(HeaderId::x_forwarded_port, decimal(arena, client.port));
  if (policy.rfc7239) ours.add(HeaderId::forwarded, make_forwarded(exchange));
  const std::string_view here = via_here(exchange.request.version);
  ours.add(HeaderId::via, via.empty() ? here : arena.join({via, ", ", here}));
  if (const auto& tls = exchange.connection->tls; tls && !tls->client_cert_field.empty()) {
    ours.add(tls->xfcc ? HeaderId::x_forwarded_client_cert : HeaderId::client_cert, tls->client_cert_field);
  }
  if (exchange.request_id.empty()) make_request_id(exchange, policy);
  ours.add(HeaderId::x_request_id, exchange.request_id);
  ours.add(HeaderId::traceparent, make_traceparent(exchange));
  exchange.forward_headers = ours;
}

void encode_forwarded_head(wire::Sink& sink, const Exchange& exchange) {
  const message::RequestHead& request = exchange.request;
  const std::string_view path = request.target.form == message::TargetForm::asterisk ? "*" : exchange.forward_path;
  http1::encode_request_line(sink, request.method_text, path, request.target.has_query, request.target.query);
  http1::encode_field(sink, "Host",
                      request.authority.empty() ? std::string_view(exchange.connection->local_ip) : request.authority);
  for (const Header& h : exchange.forward_headers) http1::encode_field(sink, h.name, h.value);
  using message::Method;
  const Method method = request.method;
  if (request.body.kind != message::BodyKind::none) {
    http1::encode_framing(sink, request.body);
  } else if (method == Method::post || method == Method::put || method == Method::patch) {
    http1::encode_framing(sink, {message::BodyKind::exact, 0});
  }
  http1::encode_end_of_head(sink);
}

message::HeaderList forwardable_trailers(const message::HeaderList& trailers, message::Arena& arena) {
  message::HeaderList kept(arena);
  for (const Header& h : trailers) {
    // Fields with a meaning of their own come in heads; only what nobody here knows, and a few that are made for it,
    // pass.
    const bool harmless = h.id == HeaderId::unknown || h.id == HeaderId::etag || h.id == HeaderId::link;
    if (harmless) kept.add(h.name, h.value, h.id);
  }
  return kept;
}

void strip_response_head(message::ResponseHead& head) {
  const bool bodyless = head.body.kind == message::BodyKind::none && head.status != 204;
  const bool names_fields = connection_names_fields(head.headers);
  const message::HeaderList before = head.headers;
  auto unwanted = [&](const Header& h) {
    if (h.id == HeaderId::content_length) return !bodyless;
    return message::is_hop_by_hop(h.id) || (names_fields && named_by_connection(before, h.name));
  };
  if (!names_fields) {
    head.headers.remove_if(unwanted);
    return;
  }
  message::HeaderList kept(*head.headers.arena());
  for (const Header& h : before) {
    if (!unwanted(h)) kept.add(h.name, h.value, h.id);
  }
  head.headers = kept;
}

}  // namespace pontage::http
