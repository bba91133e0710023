// What a PROXY header changes of a connection, and whose header is asked for.
#include "src/frontend/proxy_intake.h"

#include <string>

#include <gtest/gtest.h>

namespace pontage::frontend {
namespace {

using namespace std::string_literals;
using proxy_protocol::Header;

http::ConnectionInfo direct() {
  http::ConnectionInfo info;
  info.peer = *net::Address::from_ip("10.0.0.1", 4000);
  info.peer_ip = "10.0.0.1";
  info.local_ip = "10.0.0.2";
  info.local_port = 8080;
  return info;
}

net::Network network(std::string_view text) {
  return *net::Network::parse(text);
}

TEST(ProxyTrust, KnowsAddressesAndUnixSockets) {
  const sockaddr nameless{.sa_family = AF_UNIX, .sa_data = {}};
  const auto unix_peer = net::Address::from_raw(&nameless, sizeof nameless.sa_family);
  const ProxyTrust networks{.networks = {network("10.0.0.0/8"), network("::1")}};
  EXPECT_TRUE(networks.includes(*net::Address::from_ip("10.1.2.3", 1)));
  EXPECT_TRUE(networks.includes(*net::Address::from_ip("::ffff:10.1.2.3", 1)));
  EXPECT_TRUE(networks.includes(*net::Address::from_ip("::1", 1)));
  EXPECT_FALSE(networks.includes(*net::Address::from_ip("11.0.0.1", 1)));
  EXPECT_FALSE(networks.includes(unix_peer));
  EXPECT_TRUE(ProxyTrust{.unix_sockets = true}.includes(unix_peer));
  EXPECT_TRUE(ProxyTrust{}.empty());
}

TEST(ProxyIntake, BelievesBothAddresses) {
  auto info = direct();
  Header header{.family = proxy_protocol::Family::ipv4};
  header.source = {.ip = {192, 0, 2, 7}, .port = 4711};
  header.destination = {.ip = {198, 51, 100, 1}, .port = 443};
  believe(header, info);
  EXPECT_EQ(info.peer.text(), "192.0.2.7:4711");
  EXPECT_EQ(info.peer_ip, "192.0.2.7");
  EXPECT_EQ(info.local_ip, "198.51.100.1");
  EXPECT_EQ(info.local_port, 443);
  EXPECT_EQ(info.told, nullptr);
}

TEST(ProxyIntake, KeepsTheConnectionsOwnAddressesWithoutOthers) {
  auto info = direct();
  believe({.family = proxy_protocol::Family::unspecified, .unique_id = "id"}, info);
  EXPECT_EQ(info.peer_ip, "10.0.0.1");
  EXPECT_EQ(info.local_port, 8080);
  ASSERT_NE(info.told, nullptr);
  EXPECT_EQ(info.told->unique_id, "id");
  EXPECT_FALSE(info.told->tls);
}

TEST(ProxyIntake, TakesAUnixClientForOneWhateverItsName) {
  for (const auto& path : {""s, "/run/x"s, "\0abstract"s, std::string(108, 'x')}) {
    auto info = direct();
    Header header{.family = proxy_protocol::Family::unix_path};
    header.source.path = path;
    believe(header, info);
    EXPECT_TRUE(info.peer.is_unix());
    EXPECT_EQ(info.peer_ip, "unix:");
    EXPECT_EQ(info.local_port, 0);
  }
}

TEST(ProxyIntake, IsToldOfTlsByItsBit) {
  for (const std::uint8_t bits : {0, 1, 7}) {
    auto info = direct();
    Header header;
    header.tls = proxy_protocol::Tls{.client = bits, .verify = 0, .version = "TLSv1.3", .common_name = "someone"};
    believe(header, info);
    ASSERT_NE(info.told, nullptr);
    EXPECT_EQ(info.told->tls, bits != 0);
    EXPECT_EQ(info.told->common_name, "someone");
  }
}

}  // namespace
}  // namespace pontage::frontend
