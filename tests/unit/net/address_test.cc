// Addresses and networks: what parses, what it reads as, what contains what.
#include "src/net/address.h"

#include <string>

#include <gtest/gtest.h>

namespace pontage::net {
namespace {

TEST(Address, ParsesWhatAListenerMayBeBoundTo) {
  const struct {
    const char* text;
    const char* reads;  // nullptr: refused
  } cases[] = {
      {"127.0.0.1:80", "127.0.0.1:80"},
      {"127.0.0.1:0", "127.0.0.1:0"},
      {"127.0.0.1:65535", "127.0.0.1:65535"},
      {"[::1]:8080", "[::1]:8080"},
      {"[2001:db8::7]:1", "[2001:db8::7]:1"},
      {":80", "[::]:80"},
      {"*:80", "[::]:80"},
      {"localhost:81", "127.0.0.1:81"},
      {"[::ffff:192.0.2.1]:80", "192.0.2.1:80"},
      {"unix:/run/a.sock", "unix:/run/a.sock"},
      {"unix:", nullptr},
      {"", nullptr},
      {"80", nullptr},
      {"127.0.0.1", nullptr},
      {"127.0.0.1:", nullptr},
      {"127.0.0.1:65536", nullptr},
      {"127.0.0.1:-1", nullptr},
      {"127.0.0.1:+1", nullptr},
      {"127.0.0.1:8 ", nullptr},
      {"127.0.0.1:99999999999999999999", nullptr},
      {"127.0.0.256:80", nullptr},
      {"127.1:80", nullptr},
      {"[::1:80", nullptr},
      {"[]:80", nullptr},
      {"www.example.org:80", nullptr},
  };
  for (const auto& c : cases) {
    const auto address = Address::from_bind(c.text);
    if (c.reads == nullptr) {
      EXPECT_FALSE(address) << c.text;
    } else {
      ASSERT_TRUE(address) << c.text;
      EXPECT_EQ(address->text(), c.reads);
    }
  }
}

TEST(Address, RefusesTextsThatAreNoLiteral) {
  for (const char* text : {"", "1.2.3", "1.2.3.4.5", "01.2.3.4", "::g", ":::", "1.2.3.4 ", "[::1]", "example"}) {
    EXPECT_FALSE(Address::from_ip(text, 1)) << text;
  }
  EXPECT_FALSE(Address::from_ip(std::string(200, '1'), 1));
}

TEST(Address, RefusesAUnixPathThatDoesNotFit) {
  EXPECT_TRUE(Address::from_unix("/" + std::string(106, 'a')));
  EXPECT_FALSE(Address::from_unix("/" + std::string(107, 'a')));
  EXPECT_FALSE(Address::from_unix(""));
}

TEST(Address, KnowsLoopback) {
  EXPECT_TRUE(Address::from_ip("127.0.0.1", 1)->is_loopback());
  EXPECT_TRUE(Address::from_ip("127.9.9.9", 1)->is_loopback());
  EXPECT_TRUE(Address::from_ip("::1", 1)->is_loopback());
  EXPECT_TRUE(Address::from_ip("::ffff:127.0.0.1", 1)->is_loopback());
  EXPECT_TRUE(Address::from_unix("/x")->is_loopback());
  EXPECT_FALSE(Address::from_ip("128.0.0.1", 1)->is_loopback());
  EXPECT_FALSE(Address::from_ip("::2", 1)->is_loopback());
  EXPECT_FALSE(Address().is_loopback());
}

TEST(Address, ReadsAnUnnamedUnixPeerAsUnix) {
  sockaddr_un raw{};
  raw.sun_family = AF_UNIX;
  const auto peer = Address::from_raw(reinterpret_cast<sockaddr*>(&raw), sizeof raw.sun_family);
  EXPECT_EQ(peer.ip_text(), "unix:");
  EXPECT_EQ(peer.text(), "unix:");
  EXPECT_EQ(peer.port(), 0);
}

TEST(Address, ComparesByFamilyAddressAndPort) {
  EXPECT_EQ(*Address::from_ip("1.2.3.4", 5), *Address::from_bind("1.2.3.4:5"));
  EXPECT_FALSE(*Address::from_ip("1.2.3.4", 5) == *Address::from_ip("1.2.3.4", 6));
  EXPECT_FALSE(*Address::from_ip("1.2.3.4", 5) == *Address::from_ip("1.2.3.5", 5));
}

TEST(Network, ContainsExactlyItsBlock) {
  const struct {
    const char* network;
    const char* address;
    bool inside;
  } cases[] = {
      {"10.0.0.0/8", "10.255.1.2", true},
      {"10.0.0.0/8", "11.0.0.0", false},
      {"10.1.2.3/8", "10.9.9.9", true},  // bits past the prefix do not matter
      {"192.168.1.128/25", "192.168.1.128", true},
      {"192.168.1.128/25", "192.168.1.127", false},
      {"192.0.2.1", "192.0.2.1", true},
      {"192.0.2.1", "192.0.2.2", false},
      {"192.0.2.1/32", "192.0.2.1", true},
      {"0.0.0.0/0", "203.0.113.9", true},
      {"0.0.0.0/0", "::1", false},
      {"::/0", "::1", true},
      {"::/0", "10.0.0.1", false},
      {"::1", "::1", true},
      {"2001:db8::/33", "2001:db8:7fff::1", true},
      {"2001:db8::/33", "2001:db8:8000::1", false},
      {"10.0.0.0/8", "::ffff:10.1.1.1", true},
      {"::ffff:10.0.0.0", "10.0.0.0", true},
  };
  for (const auto& c : cases) {
    const auto network = Network::parse(c.network);
    ASSERT_TRUE(network) << c.network;
    EXPECT_EQ(network->contains(*Address::from_ip(c.address, 80)), c.inside) << c.network << " " << c.address;
  }
  EXPECT_FALSE(Network::parse("0.0.0.0/0")->contains(*Address::from_unix("/x")));
}

TEST(Network, RefusesWhatIsNoBlock) {
  for (const char* text : {"", "/8", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/8/8", "10.0.0.0/x",
                           "10.0.0/8", "example.org", "unix:/x"}) {
    EXPECT_FALSE(Network::parse(text)) << text;
  }
}

}  // namespace
}  // namespace pontage::net
