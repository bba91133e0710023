#include "src/config/addresses.h"

#include <gtest/gtest.h>

namespace pontage::config {
namespace {

TEST(ServerUrls, FillsInTheDefaultPort) {
  EXPECT_EQ(parse_server_url("http://app")->port, 80);
  EXPECT_EQ(parse_server_url("ajp://app")->port, 8009);
  EXPECT_EQ(parse_server_url("http://app:8080/")->port, 8080);
}

TEST(ServerUrls, KeepsTextAndLowersHostAndScheme) {
  const auto url = parse_server_url("AJP://App.Example:8010");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->adapter, Adapter::ajp);
  EXPECT_EQ(url->host, "app.example");
  EXPECT_EQ(url->text, "AJP://App.Example:8010");
  EXPECT_EQ(default_server_name(*url), "app.example:8010");
}

TEST(ServerUrls, ReadsIpv6InBrackets) {
  const auto url = parse_server_url("http://[fd00::1]:8080");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "fd00::1");
  EXPECT_EQ(default_server_name(*url), "[fd00::1]:8080");
  EXPECT_FALSE(parse_server_url("http://fd00::1:8080"));
}

TEST(ServerUrls, ReadsUnixSockets) {
  EXPECT_EQ(parse_server_url("http+unix:/run/app.sock")->unix_path, "/run/app.sock");
  EXPECT_EQ(parse_server_url("ajp+unix:///run/app.sock")->unix_path, "/run/app.sock");
  EXPECT_FALSE(parse_server_url("ajp+unix:app.sock"));
  EXPECT_FALSE(parse_server_url("ajp+unix:/" + std::string(120, 'a')));
}

TEST(ServerUrls, HttpsIsHttpWithTls) {
  const auto url = parse_server_url("https://app.example");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->adapter, Adapter::http);
  EXPECT_EQ(url->port, 443);
  EXPECT_TRUE(url->tls);
  EXPECT_FALSE(parse_server_url("http://app.example")->tls);
  EXPECT_TRUE(parse_server_url("https+unix:/run/app.sock")->tls);
}

TEST(ServerUrls, ListsTheKnownSchemes) {
  for (const auto* text : {"fcgi://app", "app:8080", "app", "", "://", "10.0.0.1:80", "ftp://app"}) {
    const auto url = parse_server_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_NE(url.error().find("http://, https://, ajp://, fastcgi://, scgi://, uwsgi://, and each with +unix:/path"),
              std::string::npos)
        << text;
  }
}

TEST(ServerUrls, RefusesPathsUsersAndBadPorts) {
  for (const auto* text :
       {"http://app/x", "http://app?x", "http://u:p@app", "http://app:65536", "http://", "http:app", "http://a b"}) {
    EXPECT_FALSE(parse_server_url(text)) << text;
  }
  EXPECT_EQ(parse_server_url("http://user:hunter2@app").error().find("hunter2"), std::string::npos);
}

TEST(ServerUrls, KnowsLoopback) {
  for (const auto* text : {"ajp://127.0.0.1", "ajp://127.1.2.3", "ajp://[::1]", "ajp://localhost", "ajp+unix:/x"}) {
    EXPECT_TRUE(is_loopback(*parse_server_url(text))) << text;
  }
  for (const auto* text : {"ajp://10.0.0.1", "ajp://127.evil.example", "ajp://[::2]"}) {
    EXPECT_FALSE(is_loopback(*parse_server_url(text))) << text;
  }
}

TEST(Binds, AcceptsAddressesAndSockets) {
  for (const auto* text : {":80", ":0", "*:80", "127.0.0.1:80", "[::1]:80", "localhost:80", "unix:/run/x.sock"}) {
    EXPECT_EQ(bind_error(text), "") << text;
  }
}

TEST(Binds, RefusesWhatCannotBeBound) {
  for (const auto* text : {"", "80", ":", ":65536", ":x", "example.org:80", "::1:80", "http://x:80", "unix:x",
                           "unix:", "[127.0.0.1]:80"}) {
    EXPECT_NE(bind_error(text), "") << text;
  }
  EXPECT_NE(bind_error("8080").find("`:8080`"), std::string::npos);
}

TEST(Networks, AcceptsAddressesAndBlocks) {
  for (const auto* text : {"10.0.0.0/8", "192.0.2.1", "::1", "fd00::/8", "0.0.0.0/0"})
    EXPECT_EQ(network_error(text), "") << text;
  for (const auto* text : {"10.0.0.0/33", "fd00::/129", "example.org", "", "10.0.0.0/", "10.0.0.0/-1", "10.0.0/8"}) {
    EXPECT_NE(network_error(text), "") << text;
  }
}

}  // namespace
}  // namespace pontage::config
