#include "protocols/ajp13/request_decoder.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/ajp13/samples.h"

namespace pontage::ajp13::testing {
namespace {

using message::Method;

// A request by hand, each part replaceable.
struct Parts {
  unsigned method = 2;
  std::string protocol = "HTTP/1.1";
  std::string path = "/p";
  unsigned tls = 0;
  unsigned count = 0;
  std::string fields;
  std::string attributes;
  std::string tail = "\xff";

  std::string packet() const {
    Bytes b;
    b.u8(2).u8(method).str(protocol).str(path).str("192.0.2.7").null().str("Example.ORG").u16(8080).u8(tls);
    return b.u16(count).raw(fields).raw(attributes).raw(tail).to_container();
  }
};

struct Decoded {
  message::Arena arena;
  message::RequestHead head;
  Attributes attributes;
  std::string error;

  explicit Decoded(const std::string& packet) {
    RequestDecoder decoder(kMinPacket, {});
    const auto step = decoder.decode(packet, arena, head, attributes);
    if (!step) error = wire::to_string(step.error());
  }
};

std::string error_of(const Parts& parts) {
  return run_request(parts.packet()).error;
}

TEST(RequestDecoder, A4ReadsEveryPart) {
  Parts parts;
  parts.count = 2;
  parts.fields = Bytes().u16(0xA00B).str("Shop.Example:81").str("X-A").str("1").payload();
  parts.attributes = Bytes().u8(5).str("q=1").payload();
  const Decoded d(parts.packet());
  EXPECT_EQ(d.error, "");
  EXPECT_EQ(d.head.method, Method::get);
  EXPECT_EQ(d.head.method_text, "GET");
  EXPECT_EQ(d.head.target_text, "/p?q=1");
  EXPECT_EQ(d.head.target.raw_path, "/p");
  EXPECT_EQ(d.head.target.query, "q=1");
  EXPECT_TRUE(d.head.target.has_query);
  EXPECT_EQ(d.head.authority, "Shop.Example:81");
  EXPECT_EQ(d.head.host, "shop.example");
  EXPECT_EQ(d.head.port, 81);
  EXPECT_EQ(text_of(d.head.headers), "|Host=Shop.Example:81|X-A=1");
  EXPECT_EQ(d.attributes.remote_addr, "192.0.2.7");
  EXPECT_EQ(d.attributes.remote_host, "");
  EXPECT_EQ(d.attributes.server_name, "Example.ORG");
  EXPECT_EQ(d.attributes.server_port, 8080);
}

TEST(RequestDecoder, A12TheServersNameStandsInForHost) {
  const Decoded d(Parts{}.packet());
  EXPECT_EQ(d.head.host, "example.org");
  EXPECT_EQ(d.head.port, 8080);
}

TEST(RequestDecoder, A8ReadsEveryAttribute) {
  Parts parts;
  parts.tls = 1;
  Bytes b;
  b.u8(1)
      .str("/ctx")
      .u8(2)
      .str("/never")
      .u8(3)
      .str("user")
      .u8(4)
      .str("Basic")
      .u8(6)
      .str("n1")
      .u8(7)
      .str("PEM")
      .u8(8)
      .str("CIPHER");
  b.u8(9).str("SESSION").u8(10).str("AJP_REMOTE_PORT").str("4711").u8(10).str("AJP_LOCAL_ADDR").str("10.1.1.1");
  b.u8(10)
      .str("AJP_SSL_PROTOCOL")
      .str("TLSv1.2")
      .u8(10)
      .str("JK_LB_ACTIVATION")
      .str("DIS")
      .u8(11)
      .u16(256)
      .u8(12)
      .str("sec");
  b.u8(10).str("other thing").str("x").u8(10).str("y").null();
  parts.attributes = b.payload();
  const Decoded d(parts.packet());
  EXPECT_EQ(d.error, "");
  const auto& a = d.attributes;
  EXPECT_EQ(a.context, "/ctx");
  EXPECT_EQ(a.remote_user, "user");
  EXPECT_EQ(a.auth_type, "Basic");
  EXPECT_EQ(a.route, "n1");
  EXPECT_EQ(a.ssl_cert, "PEM");
  EXPECT_EQ(a.ssl_cipher, "CIPHER");
  EXPECT_EQ(a.ssl_session, "SESSION");
  EXPECT_EQ(a.ssl_protocol, "TLSv1.2");
  EXPECT_EQ(a.ssl_key_size, 256);
  EXPECT_EQ(a.remote_port, 4711);
  EXPECT_EQ(a.local_addr, "10.1.1.1");
  EXPECT_EQ(a.activation, "DIS");
  EXPECT_EQ(a.secret, "sec");
  EXPECT_TRUE(a.is_tls);
  EXPECT_EQ(text_of(a.others), "|other thing=x|y=");
}

TEST(RequestDecoder, A8RefusesABrokenAttributeList) {
  Parts parts;
  for (const unsigned code : {0u, 14u, 100u, 254u}) {
    parts.attributes = Bytes().u8(code).str("v").payload();
    EXPECT_EQ(error_of(parts), "unknown_code") << code;
  }
  parts.attributes = "";
  parts.tail = "";
  EXPECT_EQ(error_of(parts), "bad_length");
  parts.tail = "\xff\xff";
  EXPECT_EQ(error_of(parts), "bad_length");
  parts.tail = Bytes().u8(11).u8(1).payload();
  EXPECT_EQ(error_of(parts), "bad_length");
  parts.tail = Bytes().u8(12).u16(9).raw("short").payload();
  EXPECT_EQ(error_of(parts), "bad_string");
  parts.tail = Bytes().u8(10).str("name").payload();
  EXPECT_EQ(error_of(parts), "bad_string");
  parts.tail = "\xff";
  for (int i = 0; i < 101; ++i) parts.attributes += Bytes().u8(10).str("a").str("b").payload();
  EXPECT_EQ(error_of(parts), "too_many_headers");
}

TEST(RequestDecoder, A5TakesEveryCodeAndStoredMethods) {
  Parts parts;
  for (unsigned code = 1; code <= 27; ++code) {
    parts.method = code;
    const Decoded d(parts.packet());
    EXPECT_EQ(d.error, "") << code;
    EXPECT_EQ(static_cast<unsigned>(d.head.method), code);
    EXPECT_EQ(d.head.method_text, message::to_string(d.head.method));
  }
  parts.method = 255;
  parts.attributes = Bytes().u8(13).str("PATCH").payload();
  EXPECT_EQ(Decoded(parts.packet()).head.method, Method::patch);
  parts.attributes = Bytes().u8(13).str("QUERY").payload();
  EXPECT_EQ(Decoded(parts.packet()).head.method_text, "QUERY");
}

TEST(RequestDecoder, A5RefusesNoMethodAndTwoMethods) {
  Parts parts;
  parts.method = 255;
  EXPECT_EQ(error_of(parts), "malformed_request_line");
  parts.attributes = Bytes().u8(13).str("A B").payload();
  EXPECT_EQ(error_of(parts), "malformed_request_line");
  parts.method = 2;
  parts.attributes = Bytes().u8(13).str("POST").payload();
  EXPECT_EQ(error_of(parts), "malformed_request_line");
  parts.attributes = "";
  for (const unsigned code : {0u, 28u, 254u}) {
    parts.method = code;
    EXPECT_EQ(error_of(parts), "unknown_code") << code;
  }
}

TEST(RequestDecoder, A11AQueryCanBeNoneEmptyOrSome) {
  Parts parts;
  EXPECT_FALSE(Decoded(parts.packet()).head.target.has_query);
  parts.attributes = Bytes().u8(5).null().payload();
  EXPECT_FALSE(Decoded(parts.packet()).head.target.has_query);
  parts.attributes = Bytes().u8(5).str("").payload();
  const Decoded d(parts.packet());
  EXPECT_TRUE(d.head.target.has_query);
  EXPECT_EQ(d.head.target_text, "/p?");
}

TEST(RequestDecoder, A11RefusesTargetsThatAreNotEncoded) {
  Parts parts;
  for (const auto path : {""sv, "p"sv, "/a b"sv, "/a?b"sv, "/#"sv, "/\xc3\xa4"sv, "/\0"sv, "http://x/"sv}) {
    parts.path = path;
    EXPECT_EQ(error_of(parts), "malformed_target") << path;
  }
  parts.path = "*";
  EXPECT_EQ(Decoded(parts.packet()).head.target.form, message::TargetForm::asterisk);
  parts.path = "/";
  parts.attributes = Bytes().u8(5).str("a b").payload();
  EXPECT_EQ(error_of(parts), "malformed_target");
}

TEST(RequestDecoder, A14ReadsProtocols) {
  Parts parts;
  for (const auto text : {"HTTP/1.0", "HTTP/2.0", "HTTP/2"}) {
    parts.protocol = text;
    EXPECT_EQ(Decoded(parts.packet()).head.version.major, text[5] - '0') << text;
  }
  for (const auto text : {"", "HTTP/", "http/1.1", "HTTP/1.", "HTTP/1.10", "HTTP/x", "HTTP/1x1"}) {
    parts.protocol = text;
    EXPECT_EQ(error_of(parts), "unsupported_version") << text;
  }
}

TEST(RequestDecoder, A15TheFirstBodyPacketIsDueWithAContentLength) {
  Parts parts;
  parts.method = 4;
  parts.count = 1;
  parts.fields = Bytes().u16(0xA008).str("5").payload();
  RequestDecoder decoder(kMinPacket, {});
  EXPECT_EQ(run_request(decoder, {parts.packet()}).events, "forward");
  EXPECT_TRUE(decoder.awaiting_body());
  EXPECT_EQ(decoder.remaining_body(), 5u);
  EXPECT_FALSE(decoder.finish());
  const auto seen = run_request(decoder, {body_packet("hello")});
  EXPECT_EQ(seen.body, "hello");
  EXPECT_FALSE(decoder.awaiting_body());
  EXPECT_EQ(decoder.remaining_body(), 0u);
  EXPECT_TRUE(decoder.finish());
}

TEST(RequestDecoder, A16LaterBodyPacketsComeWhenAskedFor) {
  Parts parts;
  parts.method = 4;
  const auto seen = run_request(parts.packet() + body_packet("ab") + body_packet("cd") + "\x12\x34\x00\x00"s, 3);
  EXPECT_EQ(seen.events, "forward body(4) body_end");
  EXPECT_TRUE(seen.done);
}

TEST(RequestDecoder, A16TakesAnEmptyPacketWithALengthToo) {
  EXPECT_EQ(run_request(Parts{}.packet() + body_packet(""), 1).events, "forward body_end");
}

TEST(RequestDecoder, A16RefusesABodyPacketWhoseLengthsDisagree) {
  const auto head = Parts{}.packet();
  EXPECT_EQ(run_request(head + Bytes().u8(0).to_container(), 1).error, "bad_length");
  EXPECT_EQ(run_request(head + Bytes().u16(1).to_container(), 1).error, "bad_length");
  EXPECT_EQ(run_request(head + Bytes().u16(1).raw("ab").to_container(), 1).error, "bad_length");
}

TEST(RequestDecoder, A18RefusesAPacketThatNobodyAskedFor) {
  EXPECT_EQ(run_request(Parts{}.packet() + "\x12\x34\x00\x00"s).error, "unexpected_message");
  EXPECT_EQ(run_request(Parts{}.packet() + body_packet(std::string(300, 'x'))).error, "unknown_code");
}

TEST(RequestDecoder, A18RefusesMoreBodyThanItsContentLength) {
  Parts parts;
  parts.count = 1;
  parts.fields = Bytes().u16(0xA008).str("3").payload();
  EXPECT_EQ(run_request(parts.packet() + body_packet("four")).error, "bad_length");
  EXPECT_EQ(run_request(parts.packet() + body_packet("ab") + body_packet("cd"), 1).error, "bad_length");
}

TEST(RequestDecoder, A18RefusesFramingThatCanBeReadTwice) {
  Parts parts;
  parts.count = 2;
  parts.fields = Bytes().u16(0xA008).str("3").str("Content-Length").str("3").payload();
  EXPECT_EQ(error_of(parts), "bad_content_length");
  parts.fields = Bytes().u16(0xA008).str("3").str("Transfer-Encoding").str("chunked").payload();
  EXPECT_EQ(error_of(parts), "bad_transfer_encoding");
  parts.fields = Bytes().u16(0xA00B).str("a").str("host").str("a").payload();
  EXPECT_EQ(error_of(parts), "duplicate_host");
  parts.count = 1;
  parts.fields = Bytes().u16(0xA00B).str("a b").payload();
  EXPECT_EQ(error_of(parts), "malformed_host");
}

TEST(RequestDecoder, A28TakesPingsBetweenRequests) {
  const auto ping = "\x12\x34\x00\x01\x0a"s;
  EXPECT_EQ(run_request(ping + Parts{}.packet() + ping).events, "cping forward cping");
  EXPECT_EQ(run_request(Bytes().u8(10).u8(0).to_container()).error, "bad_length");
}

TEST(RequestDecoder, A1RefusesMagicLengthAndTypesOfOthers) {
  EXPECT_EQ(run_request("GET / HTTP/1.1\r\n").error, "bad_magic");
  EXPECT_EQ(run_request(Bytes().u8(10).to_gateway()).error, "bad_magic");
  EXPECT_EQ(run_request("\x12\x34\x1f\xfd"sv).error, "packet_too_long");
  for (const unsigned type : {0u, 1u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 255u}) {
    EXPECT_EQ(run_request(Bytes().u8(type).to_container()).error, "unknown_code") << type;
  }
}

TEST(RequestDecoder, LimitsNameThemselves) {
  Parts parts;
  parts.path = "/" + std::string(20, 'p');
  parts.count = 2;
  parts.fields = Bytes().str("A").str("1").str("B").str("2").payload();
  RequestDecoder line(kMinPacket, {.request_line = 20});
  EXPECT_EQ(run_request(line, {parts.packet()}).error, "request_line_too_long");
  RequestDecoder count(kMinPacket, {.header_count = 1});
  EXPECT_EQ(run_request(count, {parts.packet()}).error, "too_many_headers");
  RequestDecoder all(kMinPacket, {.headers = 7});
  EXPECT_EQ(run_request(all, {parts.packet()}).error, "headers_too_long");
  RequestDecoder one(kMinPacket, {.header = 3});
  EXPECT_EQ(run_request(one, {parts.packet()}).error, "header_too_long");
}

}  // namespace
}  // namespace pontage::ajp13::testing
