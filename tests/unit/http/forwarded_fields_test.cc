// What a server gets to see of a request, and a client of a response (ADAPTERS X2, X5, X11, E4; CASES P19).
#include <string>

#include <gtest/gtest.h>

#include "src/http/forwarding.h"
#include "src/net/reactor.h"

namespace pontage::http {
namespace {

struct ForwardedFields : testing::Test {
  ForwardedFields() {
    exchange.fiber = &fiber;
    exchange.connection = &connection;
    exchange.request.headers = message::HeaderList(exchange.arena);
    exchange.request.authority = "shop.example";
    connection.peer = *net::Address::from_ip("192.0.2.1", 5000);
    connection.peer_ip = "192.0.2.1";
    connection.local_port = 8080;
  }
  void trust(std::string_view network) { policy.trusted.push_back(*net::Network::parse(network)); }
  void forward() {
    identify_client(exchange, policy);
    make_forward_headers(exchange, policy);
  }
  // The values of one field as the server sees them, joined by '|'.
  std::string seen(std::string_view name) const {
    std::string values;
    for (const auto& h : exchange.forward_headers) {
      if (h.name != name) continue;
      values += (values.empty() ? "" : "|") + std::string(h.value);
    }
    return values;
  }

  net::Reactor reactor;
  net::Fiber fiber{reactor};
  ConnectionInfo connection;
  ForwardingPolicy policy;
  Exchange exchange{reactor};
};

TEST_F(ForwardedFields, AreMadeFromThePeerWhenNobodyIsTrusted) {
  exchange.request.headers.add("X-Forwarded-For", "203.0.113.9");
  exchange.request.headers.add("X-Forwarded-Proto", "https");
  forward();
  EXPECT_EQ(seen("X-Forwarded-For"), "192.0.2.1");
  EXPECT_EQ(seen("X-Forwarded-Proto"), "http");
  EXPECT_EQ(seen("X-Forwarded-Host"), "shop.example");
  EXPECT_EQ(seen("X-Forwarded-Port"), "8080");
  EXPECT_EQ(seen("Via"), "1.1 pontage");
}

TEST_F(ForwardedFields, CannotBeDeletedByConnection) {
  exchange.request.headers.add("Connection", "close, X-Forwarded-For, X-Mine");
  exchange.request.headers.add("X-Mine", "1");
  forward();
  EXPECT_EQ(seen("X-Forwarded-For"), "192.0.2.1");
  EXPECT_EQ(seen("X-Mine"), "");
  EXPECT_EQ(seen("Connection"), "");
}

TEST_F(ForwardedFields, DropWhatOnlyLooksLikeAKnownField) {
  exchange.request.headers.add("X_Forwarded_For", "203.0.113.9");
  exchange.request.headers.add("Proxy", "http://evil.example");
  exchange.request.headers.add("my_field", "kept");
  forward();
  EXPECT_EQ(seen("X_Forwarded_For"), "");
  EXPECT_EQ(seen("Proxy"), "");
  EXPECT_EQ(seen("my_field"), "kept");
}

TEST_F(ForwardedFields, WalkTrustedProxiesFromTheRight) {
  trust("192.0.2.0/24");
  trust("10.0.0.0/8");
  exchange.request.headers.add("X-Forwarded-For", "6.6.6.6, 203.0.113.9, 10.1.1.1");
  forward();
  EXPECT_EQ(exchange.client.ip, "203.0.113.9");
  EXPECT_EQ(seen("X-Forwarded-For"), "203.0.113.9, 10.1.1.1, 192.0.2.1");
}

TEST_F(ForwardedFields, ReadAllLinesOfXForwardedForAsOneList) {
  trust("192.0.2.0/24");
  exchange.request.headers.add("X-Forwarded-For", "6.6.6.6");
  exchange.request.headers.add("X-Forwarded-For", "203.0.113.9");
  forward();
  EXPECT_EQ(exchange.client.ip, "203.0.113.9");
  EXPECT_EQ(seen("X-Forwarded-For"), "203.0.113.9, 192.0.2.1");
}

TEST_F(ForwardedFields, BelieveNoDoubledSchemeOfATrustedProxy) {
  trust("192.0.2.0/24");
  exchange.request.headers.add("X-Forwarded-Proto", "http");
  exchange.request.headers.add("X-Forwarded-Proto", "https");
  forward();
  EXPECT_EQ(exchange.client.scheme, "http");
}

TEST_F(ForwardedFields, ContinueAGoodTraceAndReplaceABadOne) {
  exchange.request.headers.add("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00");
  forward();
  const std::string good = seen("Traceparent") + seen("traceparent");
  EXPECT_EQ(good.substr(0, 36), "00-0af7651916cd43dd8448eb211c80319c-");
  EXPECT_NE(good.substr(36, 16), "b7ad6b7169203331");
  EXPECT_EQ(good.substr(52), "-00");

  exchange.request.headers.clear();
  exchange.request.headers.add("traceparent", "00-00000000000000000000000000000000-b7ad6b7169203331-01");
  forward();
  const std::string fresh = seen("Traceparent") + seen("traceparent");
  EXPECT_EQ(fresh.size(), 55U);
  EXPECT_NE(fresh.substr(3, 32), std::string(32, '0'));
}

TEST_F(ForwardedFields, KeepARequestIdOfTrustedPeersOnly) {
  exchange.request.headers.add("X-Request-Id", "abcdefgh-1");
  make_request_id(exchange, policy);
  EXPECT_EQ(exchange.request_id.size(), 32U);
  trust("192.0.2.1");
  make_request_id(exchange, policy);
  EXPECT_EQ(exchange.request_id, "abcdefgh-1");
}

TEST_F(ForwardedFields, OfAResponseLoseWhatBelongsToOneConnection) {
  message::ResponseHead head;
  head.status = 200;
  head.body = {message::BodyKind::exact, 5};
  head.headers = message::HeaderList(exchange.arena);
  head.headers.add("Connection", "keep-alive, X-Hop");
  head.headers.add("Keep-Alive", "timeout=5");
  head.headers.add("X-Hop", "1");
  head.headers.add("Content-Length", "5");
  head.headers.add("X-End", "2");
  strip_response_head(head);
  ASSERT_EQ(head.headers.size(), 1U);
  EXPECT_EQ(head.headers.begin()->name, "X-End");
}

TEST_F(ForwardedFields, OfABodylessResponseKeepItsLength) {
  message::ResponseHead head;
  head.status = 200;  // the answer to HEAD
  head.headers = message::HeaderList(exchange.arena);
  head.headers.add("Content-Length", "5");
  strip_response_head(head);
  EXPECT_EQ(head.headers.size(), 1U);
  head.status = 204;
  strip_response_head(head);
  EXPECT_EQ(head.headers.size(), 0U);
}

TEST_F(ForwardedFields, OfATrailerNeverFrameOrRoute) {
  message::HeaderList trailers(exchange.arena);
  trailers.add("Content-Length", "9");
  trailers.add("Host", "evil");
  trailers.add("Set-Cookie", "a=b");
  trailers.add("X-Checksum", "1");
  const auto kept = forwardable_trailers(trailers, exchange.arena);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept.begin()->name, "X-Checksum");
}

}  // namespace
}  // namespace pontage::http
