#include "src/upstream/proxy_header.h"

#include <algorithm>
#include <span>

#include "protocols/proxy_protocol/encoder.h"

namespace pontage::upstream {

using namespace proxy_protocol;  // NOLINT: its words

namespace {

Endpoint endpoint(const net::Address& address, std::size_t& size) {
  Endpoint end;
  size = address.ip_bytes(std::span<unsigned char, 16>(end.ip));
  end.port = address.port();
  return end;
}

// IPv4 as IPv6 has it (RFC 4291 2.5.5.2), for a pair of both.
void map_to_ipv6(Endpoint& end, std::size_t size) {
  if (size != 4) return;
  std::copy_n(end.ip.begin(), 4, end.ip.begin() + 12);
  std::fill_n(end.ip.begin(), 10, static_cast<unsigned char>(0));
  end.ip[10] = end.ip[11] = 0xff;
}

void set_addresses(Header& header, const http::ConnectionInfo& client) {
  const auto local = net::Address::from_ip(client.local_ip, client.local_port);
  if (!local) return;
  std::size_t from = 0;
  std::size_t to = 0;
  header.source = endpoint(client.peer, from);
  header.destination = endpoint(*local, to);
  if (from == 0) return;
  header.family = from == 4 && to == 4 ? proxy_protocol::Family::ipv4 : proxy_protocol::Family::ipv6;
  if (header.family == proxy_protocol::Family::ipv4) return;
  map_to_ipv6(header.source, from);
  map_to_ipv6(header.destination, to);
}

// No ALPN: it names what is spoken on the connection, and the server is not spoken to as the client speaks to us.
void set_facts(Header& header, const http::ConnectionInfo& client) {
  if (client.told) {
    const http::ProxyFacts& told = *client.told;
    header.unique_id = told.unique_id;
    header.authority = told.authority;
    if (told.tls) {
      header.tls = Tls{.client = told.tls_client,
                       .verify = told.tls_verify,
                       .version = told.tls_version,
                       .common_name = told.common_name,
                       .cipher = told.tls_cipher};
    }
  }
  if (!client.tls) return;
  const net::TlsFacts& facts = *client.tls;
  header.authority = facts.server_name;
  Tls& tls = header.tls.emplace();
  tls.client = kClientTls;
  tls.version = facts.version;
  tls.cipher = facts.cipher;
  if (facts.client_cert.empty()) return;
  // One that was not found good would have ended the handshake.
  tls.client |= kClientCertConnection | kClientCertSession;
  tls.verify = 0;
  tls.common_name = facts.client_name;
}

}  // namespace

std::string make_proxy_header(const http::ConnectionInfo& client, config::SendProxy version) {
  Header header;
  header.version = version == config::SendProxy::v1 ? Version::v1 : Version::v2;
  if (client.peer.family() == AF_UNSPEC) {
    header.command = Command::local;
  } else {
    set_addresses(header, client);
    set_facts(header, client);
  }
  std::string bytes(room(header), '\0');
  wire::Sink sink(bytes);
  encode(sink, header);
  bytes.resize(sink.size());
  return bytes;
}

net::Task<util::Result<void>> send_proxy_header(net::ByteStream& stream, const http::ConnectionInfo& client,
                                                config::SendProxy version, std::uint64_t patience_ms) {
  std::string bytes = make_proxy_header(client, version);
  iovec piece{bytes.data(), bytes.size()};
  auto sent = co_await net::write_all(stream, {&piece, 1}, net::More::follows, patience_ms, observe::Phase::connect,
                                      util::Source::server);
  if (!sent) sent.error().retry = util::RetryClass::not_sent;
  co_return sent;
}

}  // namespace pontage::upstream
