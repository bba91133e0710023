#include "protocols/ajp13/request_encoder.h"

#include <string>

#include <gtest/gtest.h>

#include "protocols/ajp13/request_decoder.h"
#include "tests/unit/ajp13/samples.h"

namespace pontage::ajp13 {
namespace {

using message::BodyKind;
using message::Method;
using Reason = EncodeRefusal::Reason;
using testing::Bytes;

class RequestEncoder : public ::testing::Test {
 protected:
  RequestEncoder() : headers(arena), room(1 << 18, '\0') {
    head.method = Method::get;
    head.method_text = "GET";
  }
  ForwardRequest request() {
    ForwardRequest r{.head = head,
                     .path = "/a;jsessionid=1",
                     .query = {},
                     .headers = headers,
                     .remote_addr = "192.0.2.7",
                     .local_addr = "10.0.0.1",
                     .server_name = "example.org"};
    r.remote_port = 50000;
    r.server_port = 80;
    return r;
  }
  std::string encode(const ForwardRequest& r, std::size_t packet_size = kMinPacket) {
    wire::Sink sink(room);
    const auto done = encode_forward_request(sink, r, packet_size);
    EXPECT_TRUE(done.has_value());
    return std::string(sink.view());
  }
  EncodeRefusal refuse(const ForwardRequest& r, std::size_t packet_size = kMinPacket) {
    wire::Sink sink(room);
    sink.append("before");
    const auto done = encode_forward_request(sink, r, packet_size);
    EXPECT_FALSE(done.has_value());
    EXPECT_EQ(sink.view(), "before");
    return done ? EncodeRefusal{} : done.error();
  }
  // Everything before the headers of request().
  static Bytes line(unsigned method = 2) {
    Bytes b;
    b.u8(2).u8(method).str("HTTP/1.1").str("/a;jsessionid=1").str("192.0.2.7").str("192.0.2.7").str("example.org");
    b.u16(80).u8(0);
    return b;
  }
  static Bytes& ports(Bytes& b) {
    return b.u8(10).str("AJP_REMOTE_PORT").str("50000").u8(10).str("AJP_LOCAL_ADDR").str("10.0.0.1");
  }

  message::Arena arena;
  message::RequestHead head;
  message::HeaderList headers;
  std::string room;
};

TEST_F(RequestEncoder, A4WritesEveryPartInItsPlace) {
  headers.add("Host", "example.org");
  headers.add("X-Trace", "a");
  headers.add("x-trace", "b");
  headers.add("COOKIE", "k=v");
  auto b = line();
  b.u16(4).u16(0xA00B).str("example.org").str("X-Trace").str("a").str("x-trace").str("b").u16(0xA009).str("k=v");
  EXPECT_EQ(encode(request()), ports(b).u8(255).to_container());
}

TEST_F(RequestEncoder, A6NamesThatOnlyBeginLikeACodedOneGoAsText) {
  headers.add("Accept-Charsets", "x");
  auto b = line();
  b.u16(1).str("Accept-Charsets").str("x");
  EXPECT_EQ(encode(request()), ports(b).u8(255).to_container());
}

TEST_F(RequestEncoder, A5MethodsWithoutCodeGoAsStoredMethod) {
  for (const auto name : {"PATCH", "QUERY", "get", "CONNECT"}) {
    head.method = message::parse_method(name);
    head.method_text = name;
    auto b = line(255);
    b.u16(0);
    EXPECT_EQ(encode(request()), ports(b).u8(13).str(name).u8(255).to_container()) << name;
  }
}

TEST_F(RequestEncoder, A5CodedMethodsGoAsTheirCode) {
  head.method = Method::propfind;
  auto b = line(8);
  b.u16(0);
  EXPECT_EQ(encode(request()), ports(b).u8(255).to_container());
}

TEST_F(RequestEncoder, A11AnEmptyQueryIsNotNoQuery) {
  auto r = request();
  r.has_query = true;
  auto empty = line();
  empty.u16(0).u8(5).str("");
  EXPECT_EQ(encode(r), ports(empty).u8(255).to_container());
  r.query = "a=b?c";
  auto some = line();
  some.u16(0).u8(5).str("a=b?c");
  EXPECT_EQ(encode(r), ports(some).u8(255).to_container());
}

TEST_F(RequestEncoder, A11RefusesBytesThatMustBeEncoded) {
  auto r = request();
  for (const std::string bad : {"", "/a b", "/a\r", "/\xc3\xa4", "/a?b", "/a#b", "/\x7f"}) {
    r.path = bad;
    EXPECT_EQ(refuse(r).reason, Reason::bad_target) << bad;
  }
  r.path = "/";
  r.has_query = true;
  for (const std::string bad : {"a b", "a\n", "\xff", "a#b"}) {
    r.query = bad;
    EXPECT_EQ(refuse(r).reason, Reason::bad_target) << bad;
  }
}

TEST_F(RequestEncoder, A14SendsTheClientsProtocolUnlessPinned) {
  head.version = message::kHttp2;
  EXPECT_NE(encode(request()).find("HTTP/2.0"), std::string::npos);
  auto r = request();
  r.protocol = "HTTP/1.1";
  EXPECT_NE(encode(r).find("HTTP/1.1"), std::string::npos);
}

TEST_F(RequestEncoder, A8A9A10SendsWhatTheBalancerAndTlsKnow) {
  auto r = request();
  r.is_tls = true;
  r.tls = TlsFacts{"TLSv1.3", "TLS_AES_128_GCM_SHA256", "00ff", "-----BEGIN", 128};
  r.activation = "ACT";
  r.route = "a";
  r.secret = "s3";
  r.remote_user = "u";
  r.auth_type = "Basic";
  const Attribute extra[] = {{"X_MY", "1"}};
  r.attributes = extra;
  Bytes b;
  b.u8(2)
      .u8(2)
      .str("HTTP/1.1")
      .str("/a;jsessionid=1")
      .str("192.0.2.7")
      .str("192.0.2.7")
      .str("example.org")
      .u16(80)
      .u8(1);
  b.u16(0).u8(3).str("u").u8(4).str("Basic").u8(6).str("a").u8(7).str("-----BEGIN");
  b.u8(8).str("TLS_AES_128_GCM_SHA256").u8(9).str("00ff").u8(11).u16(128);
  b.u8(10).str("AJP_SSL_PROTOCOL").str("TLSv1.3");
  ports(b).u8(10).str("JK_LB_ACTIVATION").str("ACT").u8(10).str("X_MY").str("1").u8(12).str("s3").u8(255);
  EXPECT_EQ(encode(r), b.to_container());
}

TEST_F(RequestEncoder, A18UnsolicitedPacketOnlyWithContentLength) {
  // Whatever the client's fields say, the framing that the front decided is the only one that is sent.
  headers.add("Content-Length", "516");
  headers.add("transfer-encoding", "chunked");
  headers.add("CONTENT-LENGTH", "7");
  headers.add("Accept", "*/*");
  for (const auto kind : {BodyKind::none, BodyKind::chunked}) {
    head.body = {kind, 0};
    auto b = line();
    b.u16(1).u16(0xA001).str("*/*");
    EXPECT_EQ(encode(request()), ports(b).u8(255).to_container());
  }
  head.body = {BodyKind::exact, 0};
  auto nothing = line();
  nothing.u16(1).u16(0xA001).str("*/*");
  EXPECT_EQ(encode(request()), ports(nothing).u8(255).to_container());
  head.body = {BodyKind::exact, 9223372036854775807ULL};
  auto exact = line();
  exact.u16(2).u16(0xA008).str("9223372036854775807").u16(0xA001).str("*/*");
  EXPECT_EQ(encode(request()), ports(exact).u8(255).to_container());
}

TEST_F(RequestEncoder, A18ABodyThatLooksLikeARequestStaysABody) {
  // 0x0204 bytes: the body packet's length would read as FORWARD_REQUEST POST to a container that expected none.
  const std::string inner(0x0204, 'x');
  head.method = Method::post;
  head.body = {BodyKind::exact, inner.size()};
  wire::Sink sink(room);
  ASSERT_TRUE(encode_forward_request(sink, request(), kMinPacket));
  EXPECT_EQ(encode_body_packet(sink, inner, kMinPacket), inner.size());
  const auto seen = testing::run_request(sink.view());
  EXPECT_EQ(seen.events, "forward body(516)");
  EXPECT_EQ(seen.error, "");
}

TEST_F(RequestEncoder, A27NamesTheBiggestHeaderAndThePacketSizeNeeded) {
  const std::string big(9000, 'c');
  headers.add("Host", "example.org");
  headers.add("Cookie", big);
  const auto why = refuse(request());
  EXPECT_EQ(why.reason, Reason::too_large);
  EXPECT_EQ(why.header, "Cookie");
  EXPECT_EQ(why.header_size, 9006u);
  EXPECT_EQ(why.packet_size_needed, 9216u);
  EXPECT_LE(encode(request(), why.packet_size_needed).size(), why.packet_size_needed);
}

TEST_F(RequestEncoder, A27SaysWhenNoPacketIsLargeEnough) {
  const std::string big(70000, 'c');
  headers.add("Cookie", big);
  EXPECT_GT(refuse(request(), kMaxPacket).packet_size_needed, kMaxPacket);
  headers.clear();
  auto r = request();
  const std::string path = "/" + big;
  r.path = path;
  EXPECT_EQ(refuse(r, kMaxPacket).reason, Reason::too_large);
}

TEST_F(RequestEncoder, A2FillsAPacketToItsLastByte) {
  headers.add("X", "");
  const auto empty = encode(request()).size();
  const std::string fits(kMinPacket - empty, 'x');
  headers.clear();
  headers.add("X", fits);
  EXPECT_EQ(encode(request()).size(), kMinPacket);
  const std::string over = fits + "x";
  headers.clear();
  headers.add("X", over);
  EXPECT_EQ(refuse(request()).packet_size_needed, 9216u);
}

TEST_F(RequestEncoder, A6RefusesANameThatReadsAsACode) {
  const std::string name(0xA000, 'n');
  headers.add(name, "v");
  const auto why = refuse(request(), kMaxPacket);
  EXPECT_EQ(why.reason, Reason::unencodable_name);
  EXPECT_EQ(why.header.size(), 0xA000u);
}

TEST_F(RequestEncoder, SaysNoRoomAtEverySinkSizeBelowThePacket) {
  headers.add("Host", "example.org");
  head.body = {BodyKind::exact, 12345};
  const auto whole = encode(request());
  for (std::size_t n = 0; n < whole.size(); ++n) {
    wire::Sink sink(std::span<char>(room.data(), n));
    const auto done = encode_forward_request(sink, request(), kMinPacket);
    ASSERT_FALSE(done.has_value()) << n;
    EXPECT_EQ(done.error().reason, Reason::no_room);
    EXPECT_EQ(sink.size(), 0u);
    EXPECT_TRUE(sink.overflowed());
  }
}

TEST_F(RequestEncoder, A16BodyPacketsHaveNoTypeAndNoNul) {
  wire::Sink sink(room);
  EXPECT_EQ(encode_body_packet(sink, "hello"), 5u);
  EXPECT_EQ(sink.view(), std::string_view("\x12\x34\x00\x07\x00\x05hello", 11));
  const auto header = body_header(5);
  EXPECT_EQ(std::string_view(header.data(), header.size()), sink.view().substr(0, 6));
}

TEST_F(RequestEncoder, A17BodyPacketsTakeWhatFits) {
  const std::string data(100000, 'd');
  wire::Sink sink(room);
  EXPECT_EQ(encode_body_packet(sink, data, kMinPacket), 8186u);
  EXPECT_EQ(sink.size(), kMinPacket);
  EXPECT_EQ(encode_body_packet(sink, data), 65530u);
  EXPECT_EQ(sink.size(), kMinPacket + kMaxPacket);
}

TEST_F(RequestEncoder, A16OnlyTheEndSaysTheEnd) {
  wire::Sink sink(room);
  EXPECT_EQ(encode_body_packet(sink, ""), 0u);
  EXPECT_EQ(sink.size(), 0u);
  encode_body_end(sink);
  EXPECT_EQ(sink.view(), std::string_view("\x12\x34\x00\x00", 4));
}

TEST_F(RequestEncoder, A28PingIsFiveBytes) {
  wire::Sink sink(room);
  encode_cping(sink);
  EXPECT_EQ(sink.view(), std::string_view("\x12\x34\x00\x01\x0a", 5));
}

}  // namespace
}  // namespace pontage::ajp13
