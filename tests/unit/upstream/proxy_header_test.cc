// The PROXY header of a connection to a server.
#include "src/upstream/proxy_header.h"

#include <string>

#include <gtest/gtest.h>

#include "protocols/proxy_protocol/decoder.h"

namespace pontage::upstream {
namespace {

using config::SendProxy;

http::ConnectionInfo between(std::string_view peer, std::string_view local) {
  http::ConnectionInfo info;
  info.peer = *net::Address::from_ip(peer, 4711);
  info.local_ip = local;
  info.local_port = 443;
  return info;
}

TEST(ProxyHeaderToServers, SaysBothAddresses) {
  EXPECT_EQ(make_proxy_header(between("192.0.2.7", "198.51.100.1"), SendProxy::v1),
            "PROXY TCP4 192.0.2.7 198.51.100.1 4711 443\r\n");
  EXPECT_EQ(make_proxy_header(between("2001:db8::7", "2001:db8::1"), SendProxy::v1),
            "PROXY TCP6 2001:db8::7 2001:db8::1 4711 443\r\n");
}

TEST(ProxyHeaderToServers, SaysIPv4OfAListenerForBoth) {
  EXPECT_EQ(make_proxy_header(between("::ffff:192.0.2.7", "198.51.100.1"), SendProxy::v1),
            "PROXY TCP4 192.0.2.7 198.51.100.1 4711 443\r\n");
}

TEST(ProxyHeaderToServers, MapsAPairOfBothKinds) {
  EXPECT_EQ(make_proxy_header(between("192.0.2.7", "2001:db8::1"), SendProxy::v1),
            "PROXY TCP6 ::ffff:c000:207 2001:db8::1 4711 443\r\n");
  EXPECT_EQ(make_proxy_header(between("2001:db8::7", "198.51.100.1"), SendProxy::v1),
            "PROXY TCP6 2001:db8::7 ::ffff:c633:6401 4711 443\r\n");
}

TEST(ProxyHeaderToServers, HasNoAddressOfAUnixClientNorOfTheGatewayItself) {
  auto info = between("192.0.2.7", "unix:");
  EXPECT_EQ(make_proxy_header(info, SendProxy::v1), "PROXY UNKNOWN\r\n");
  info.peer = {};
  EXPECT_EQ(make_proxy_header(info, SendProxy::v1), "PROXY UNKNOWN\r\n");
  proxy_protocol::Decoder decoder;
  ASSERT_TRUE(decoder.decode(make_proxy_header(info, SendProxy::v2)));
  EXPECT_EQ(decoder.header().command, proxy_protocol::Command::local);
}

TEST(ProxyHeaderToServers, TellsItsOwnTlsBeforeWhatItWasTold) {
  auto info = between("192.0.2.7", "198.51.100.1");
  auto told = std::make_shared<http::ProxyFacts>();
  told->tls = true;
  told->tls_client = 1;
  told->tls_version = "TLSv1.2";
  told->unique_id = "id";
  info.told = told;
  info.tls = std::make_shared<net::TlsFacts>(
      net::TlsFacts{.server = nullptr, .server_name = "a.example", .version = "TLSv1.3", .cipher = "AES"});
  proxy_protocol::Decoder decoder;
  ASSERT_TRUE(decoder.decode(make_proxy_header(info, SendProxy::v2)));
  const auto& header = decoder.header();
  EXPECT_EQ(header.unique_id, "id");
  EXPECT_EQ(header.authority, "a.example");
  EXPECT_EQ(header.alpn, "");
  ASSERT_TRUE(header.tls);
  EXPECT_EQ(header.tls->version, "TLSv1.3");
  EXPECT_EQ(header.tls->client, proxy_protocol::kClientTls);
  EXPECT_NE(header.tls->verify, 0u);
}

}  // namespace
}  // namespace pontage::upstream
