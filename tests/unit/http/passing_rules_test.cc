// Tables: every field that must not pass, every way to write a trace, every failure's status, and the head that leaves.
#include <array>
#include <string>

#include <gtest/gtest.h>

#include "src/http/error_page.h"
#include "src/http/forwarding.h"
#include "src/net/reactor.h"

namespace pontage::http {
namespace {

using message::HeaderId;
using util::ErrorKind;
using util::Source;

class PassingRules : public testing::Test {
 protected:
  PassingRules() {
    exchange.fiber = &fiber;
    exchange.connection = &connection;
    exchange.request.headers = message::HeaderList(exchange.arena);
    exchange.request.authority = "shop.example:81";
    exchange.request.method_text = "GET";
    exchange.request.method = message::Method::get;
    exchange.request.target = *message::parse_target("/raw?q=1", message::Method::get);
    exchange.forward_path = "/canonical";
    connection.peer = *net::Address::from_ip("192.0.2.1", 5000);
    connection.peer_ip = "192.0.2.1";
    connection.local_ip = "192.0.2.9";
    connection.local_port = 80;
  }
  std::string forwarded(std::string_view name, std::string_view value) {
    exchange.request.headers.clear();
    exchange.request.headers.add(name, value);
    identify_client(exchange, policy);
    make_forward_headers(exchange, policy);
    const auto* found = exchange.forward_headers.find(name);
    return found == nullptr ? std::string("(gone)") : std::string(found->value);
  }
  std::string head() {
    identify_client(exchange, policy);
    make_forward_headers(exchange, policy);
    std::array<char, 4096> room;
    wire::Sink sink(room);
    encode_forwarded_head(sink, exchange);
    EXPECT_FALSE(sink.overflowed());
    return std::string(sink.view());
  }

  net::Reactor reactor;
  net::Fiber fiber{reactor};
  ConnectionInfo connection;
  ForwardingPolicy policy;
  Exchange exchange{reactor};
};

TEST_F(PassingRules, HopByHopFieldsDoNotPass) {
  for (const char* name : {"Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding",
                           "Upgrade", "Expect", "Proxy", "proxy", "Content-Length", "Host"}) {
    EXPECT_EQ(forwarded(name, "5"), "(gone)") << name;
  }
  for (const char* name : {"Accept", "Cookie", "Authorization", "Range", "If-None-Match", "X-Anything"}) {
    EXPECT_EQ(forwarded(name, "5"), "5") << name;
  }
}

TEST_F(PassingRules, NoClientCanClaimACertificate) {
  for (const char* name : {"Client-Cert", "client-cert-chain", "X-Forwarded-Client-Cert", "X_Forwarded_Client_Cert"}) {
    EXPECT_EQ(forwarded(name, "x"), "(gone)") << name;
  }
}

TEST_F(PassingRules, FieldsThatOnlyReadAsOursDoNotPass) {
  for (const char* name : {"X_Forwarded_For", "x-forwarded_proto", "X_REQUEST_ID", "Content_Length", "Proxy_"}) {
    const bool mimics = std::string_view(name) != "Proxy_";
    EXPECT_EQ(forwarded(name, "5"), mimics ? "(gone)" : "5") << name;
  }
}

TEST_F(PassingRules, TracesGoOnOnlyWhenTheyAreWellFormed) {
  const std::string trace = "0af7651916cd43dd8448eb211c80319c";
  const std::string good = "00-" + trace + "-b7ad6b7169203331-01";
  const std::string bad[] = {"",
                             "00",
                             "ff-" + trace + "-b7ad6b7169203331-01",
                             "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
                             "00-" + trace + "-b7ad6b7169203331-0",
                             "00-" + trace + "-b7ad6b7169203331-01-x",
                             "00-" + trace + "_b7ad6b7169203331-01",
                             "00-" + trace + "-0000000000000000-01",
                             "00-" + std::string(32, '0') + "-b7ad6b7169203331-01"};
  const std::string next = forwarded("traceparent", good);
  EXPECT_EQ(next.substr(3, 32), trace);
  EXPECT_NE(next.substr(36, 16), "b7ad6b7169203331") << "this hop is the parent of the next";
  for (const std::string& text : bad) {
    const std::string fresh = forwarded("traceparent", text);
    ASSERT_EQ(fresh.size(), 55U) << text;
    EXPECT_NE(fresh.substr(3, 32), trace) << text;
    EXPECT_EQ(exchange.trace_id, fresh.substr(3, 32));
  }
}

TEST_F(PassingRules, ViaIsContinued) {
  EXPECT_EQ(forwarded("Via", "1.0 before, 1.1 other"), "1.0 before, 1.1 other, 1.1 pontage");
  exchange.request.version = message::kHttp10;
  EXPECT_EQ(forwarded("Via", "1.1 before"), "1.1 before, 1.0 pontage");
}

TEST_F(PassingRules, RequestIdsOfATrustedPeerMustBeWellFormed) {
  policy.trusted.push_back(*net::Network::parse("192.0.2.0/24"));
  EXPECT_EQ(forwarded("X-Request-Id", "an-id.of_8"), "an-id.of_8");
  for (const char* bad : {"short", "has space in it", "quote\"quote", "semi;colon", ""}) {
    exchange.request_id = {};
    EXPECT_EQ(forwarded("X-Request-Id", bad).size(), 32U) << bad;
  }
}

TEST_F(PassingRules, ForwardedIsSentWhenWantedWithIpv6Quoted) {
  policy.rfc7239 = true;
  EXPECT_EQ(forwarded("Forwarded", "for=evil"), "for=192.0.2.1;host=\"shop.example:81\";proto=http");
  connection.peer = *net::Address::from_ip("2001:db8::1", 1);
  connection.peer_ip = "2001:db8::1";
  EXPECT_EQ(forwarded("Forwarded", ""), "for=\"[2001:db8::1]\";host=\"shop.example:81\";proto=http");
}

TEST_F(PassingRules, TheWalkStopsAtWhatIsNoAddress) {
  policy.trusted.push_back(*net::Network::parse("192.0.2.0/24"));
  const std::pair<const char*, const char*> cases[] = {
      {"203.0.113.9, unknown", "192.0.2.1"}, {"unknown, 203.0.113.9", "203.0.113.9"}, {"203.0.113.9,", "192.0.2.1"},
      {"192.0.2.7, 192.0.2.8", "192.0.2.7"}, {"  203.0.113.9  ", "203.0.113.9"},      {"2001:db8::1", "2001:db8::1"},
  };
  for (const auto& [field, client] : cases) {
    forwarded("X-Forwarded-For", field);
    EXPECT_EQ(exchange.client.ip, client) << field;
  }
}

TEST_F(PassingRules, TheHeadHasOneHostAndTheCanonicalPath) {
  exchange.request.headers.add("Host", "other.example");
  const std::string text = head();
  EXPECT_TRUE(text.starts_with("GET /canonical?q=1 HTTP/1.1\r\nHost: shop.example:81\r\n")) << text;
  EXPECT_EQ(text.find("other.example"), std::string::npos);
  EXPECT_EQ(text.find("Content-Length"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\r\n\r\n"));
}

TEST_F(PassingRules, TheHeadOfABodyIsFramedAsDecoded) {
  exchange.request.method = message::Method::post;
  exchange.request.method_text = "POST";
  EXPECT_NE(head().find("Content-Length: 0\r\n"), std::string::npos);
  exchange.request.body = {message::BodyKind::exact, 12};
  EXPECT_NE(head().find("Content-Length: 12\r\n"), std::string::npos);
  exchange.request.body = {message::BodyKind::chunked, 0};
  const std::string text = head();
  EXPECT_NE(text.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_EQ(text.find("Content-Length"), std::string::npos);
}

TEST_F(PassingRules, EveryFailureOfEverySourceHasAStatusAndAReason) {
  for (int kind = 0; kind <= static_cast<int>(ErrorKind::io); ++kind) {
    for (const Source source : {Source::client, Source::server, Source::gateway}) {
      const util::Error error{.kind = static_cast<ErrorKind>(kind), .source = source};
      const int status = status_of(error);
      EXPECT_GE(status, 400);
      EXPECT_LT(status, 600);
      EXPECT_NE(status, 500) << util::to_string(error.kind) << " of the " << util::to_string(source);
      if (source == Source::server && error.kind != ErrorKind::cancelled && error.kind != ErrorKind::too_slow &&
          error.kind != ErrorKind::too_large && error.kind != ErrorKind::length_required &&
          error.kind != ErrorKind::misdirected) {
        EXPECT_GE(status, 500) << util::to_string(error.kind);
      }
      ASSERT_EQ(end_reason(error).size(), 2U);
      EXPECT_NE(end_reason(error), "--");
    }
  }
}

TEST_F(PassingRules, ProblemPagesAreJson) {
  exchange.request.headers.add("Accept", "application/problem+json");
  exchange.request_id = "abc";
  Response page = make_error_response(exchange, 413, "body");
  net::Fiber reader(reactor);
  BodyBatch batch;
  auto read = [&]() -> net::Task<void> {
    const auto pulled = co_await page.body->pull(batch, 65536, Patience::wait);
    EXPECT_TRUE(pulled);
  };
  net::launch(
      reader, read(), [](void*) noexcept {}, nullptr);
  ASSERT_EQ(batch.count, 1U);
  EXPECT_EQ(batch.pieces[0].memory,
            "{\"type\":\"about:blank\",\"title\":\"Content Too Large\",\"status\":413,\"detail\":\"body\",\"instance\":"
            "\"abc\"}\n");
  EXPECT_EQ(page.head.body.length, batch.bytes());
}

TEST_F(PassingRules, APageForHeadHasALengthAndNoBody) {
  exchange.request.method = message::Method::head;
  const Response page = make_error_response(exchange, 404, {});
  EXPECT_EQ(page.body, nullptr);
  EXPECT_GT(page.head.body.length, 0U);
}

TEST_F(PassingRules, LengthsSurviveOnlyWhereThereIsNoBody) {
  const struct {
    int status;
    message::BodyFraming body;
    bool kept;
  } cases[] = {{200, {message::BodyKind::none, 0}, true},  // the answer to HEAD
               {304, {message::BodyKind::none, 0}, true},
               {204, {message::BodyKind::none, 0}, false},
               {200, {message::BodyKind::exact, 5}, false},  // written anew from the framing
               {200, {message::BodyKind::until_close, 0}, false}};
  for (const auto& c : cases) {
    message::ResponseHead response;
    response.status = c.status;
    response.body = c.body;
    response.headers = message::HeaderList(exchange.arena);
    response.headers.add("Content-Length", "5");
    response.headers.add("Transfer-Encoding", "chunked");
    strip_response_head(response);
    EXPECT_EQ(response.headers.has(HeaderId::content_length), c.kept) << c.status;
    EXPECT_FALSE(response.headers.has(HeaderId::transfer_encoding));
  }
}

}  // namespace
}  // namespace pontage::http
