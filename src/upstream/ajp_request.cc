#include "src/upstream/ajp_request.h"

#include "src/upstream/cgi_request.h"

namespace pontage::upstream {

using message::HeaderId;

message::HeaderList ajp_headers(http::Exchange& exchange) {
  message::HeaderList list(exchange.arena);
  if (!exchange.request.authority.empty()) list.add(HeaderId::host, exchange.request.authority);
  for (const auto& h : exchange.forward_headers) {
    if (!is_carried_apart(h)) list.add(h.name, h.value, h.id);
  }
  return list;
}

namespace {

// The client's own certificate without its chain, which a resumed session no longer has: the same every time.
ajp13::TlsFacts ajp_facts(const net::TlsFacts& facts) {
  return {.protocol = facts.version,
          .cipher = facts.cipher,
          .session = facts.session_id,
          .certificate = facts.client_cert,
          .key_size = facts.key_bits};
}

}  // namespace

ajp13::ForwardRequest make_ajp_request(const http::Exchange& exchange, const message::HeaderList& headers,
                                       std::string_view secret) {
  const message::RequestHead& request = exchange.request;
  const net::TlsFacts* tls = exchange.connection->tls.get();
  return {.head = request,
          .path = request.target.form == message::TargetForm::asterisk ? std::string_view("*") : exchange.forward_path,
          .has_query = request.target.has_query,
          .query = request.target.query,
          .headers = headers,
          .remote_addr = exchange.client.ip,
          .remote_port = exchange.connection->peer.port(),
          .local_addr = exchange.connection->local_ip,
          .server_name = request.host.empty() ? std::string_view(exchange.connection->local_ip) : request.host,
          .server_port = exchange.client.port,
          .is_tls = exchange.client.scheme == "https",
          .tls = tls != nullptr ? ajp_facts(*tls) : ajp13::TlsFacts{},
          .secret = secret,
          .activation = "ACT"};
}

}  // namespace pontage::upstream
