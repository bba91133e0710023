// What one role writes, the other reads back equal: random heads and bodies from fixed seeds.
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "protocols/ajp13/request_encoder.h"
#include "protocols/ajp13/response_encoder.h"
#include "tests/unit/ajp13/samples.h"

namespace pontage::ajp13::testing {
namespace {

using message::BodyKind;
using message::Method;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return engine_() % n; }
  std::string text(std::string_view alphabet, std::size_t least, std::size_t most) {
    std::string out(least + below(most - least + 1), ' ');
    for (auto& c : out) c = alphabet[below(alphabet.size())];
    return out;
  }
  std::string word(std::size_t most = 20) { return text("abcXYZ019-_~.", 1, most); }
  std::string bytes(std::size_t most) {
    std::string out(below(most + 1), '\0');
    for (auto& c : out) c = static_cast<char>(engine_());
    return out;
  }
  void fill(message::HeaderList& list, message::Arena& arena) {
    constexpr std::string_view kNames[] = {"Accept",     "Host-Of", "Cookie", "X-A",    "set-cookie", "Content-Type",
                                           "User-Agent", "Date",    "Pragma", "Server", "ETag",       "Referer"};
    const auto count = below(30);
    for (std::size_t i = 0; i < count; ++i) {
      const auto name = below(3) == 0 ? arena.copy("x-" + word()) : kNames[below(std::size(kNames))];
      list.add(name, arena.copy(text("ab =;,\"/%\xc3\xa4", 0, 40)));
    }
    for (auto& field : list) field.value = wire::trim_ows(field.value);
  }

 private:
  std::mt19937 engine_;
};

Method random_method(Random& random, std::string_view& text) {
  const auto pick = random.below(30);
  if (pick == 0) {
    text = "PURGE";
    return Method::other;
  }
  const auto method = static_cast<Method>(pick);
  text = message::to_string(method);
  return method;
}

class RoundTrip : public ::testing::TestWithParam<unsigned> {
 protected:
  Random random{GetParam()};
  message::Arena arena;
  std::string room = std::string(4 << 20, '\0');
  wire::Sink sink{room};
};

TEST_P(RoundTrip, TheContainerReadsTheRequestThatTheGatewayWrote) {
  message::RequestHead head;
  head.method = random_method(random, head.method_text);
  head.version = random.below(2) == 0 ? message::kHttp11 : message::kHttp2;
  message::HeaderList headers(arena);
  random.fill(headers, arena);
  const std::string body = random.below(2) == 0 ? random.bytes(40000) : std::string();
  if (!body.empty()) head.body = {BodyKind::exact, body.size()};
  const auto path = "/" + random.word(), query = random.word(), addr = random.word(), secret = random.word();
  ForwardRequest request{.head = head,
                         .path = path,
                         .query = {},
                         .headers = headers,
                         .remote_addr = addr,
                         .local_addr = "10.0.0.1",
                         .server_name = "s"};
  request.has_query = random.below(2) == 0;
  if (request.has_query) request.query = query;
  request.remote_port = static_cast<std::uint16_t>(random.below(65536));
  request.server_port = static_cast<std::uint16_t>(random.below(65536));
  request.is_tls = random.below(2) == 0;
  request.tls.key_size = 256;
  request.secret = secret;
  ASSERT_TRUE(encode_forward_request(sink, request, kMinPacket));
  int asks = -1;  // the first packet comes unasked
  for (std::string_view rest = body; !rest.empty(); ++asks) {
    rest.remove_prefix(encode_body_packet(sink, rest, kMinPacket));
  }

  const auto seen = run_request(sink.view(), asks);
  message::RequestHead expected = head;
  const auto target = request.has_query ? path + "?" + query : path;
  expected.target_text = target;
  expected.headers = message::HeaderList(arena);
  const auto length = std::to_string(body.size());
  if (!body.empty()) expected.headers.add(message::HeaderId::content_length, length);
  for (const auto& field : headers) {
    const bool coded = request_header_code(field.id) != 0;
    expected.headers.add(coded ? message::header_name(field.id) : field.name, field.value);
  }
  Attributes attributes;
  attributes.remote_addr = attributes.remote_host = addr;
  attributes.remote_port = request.remote_port;
  attributes.local_addr = "10.0.0.1";
  attributes.server_name = "s";
  attributes.server_port = request.server_port;
  attributes.is_tls = request.is_tls;
  attributes.ssl_key_size = request.is_tls ? 256 : 0;
  attributes.secret = secret;
  EXPECT_EQ(seen.error, "");
  EXPECT_EQ(seen.head, text_of(expected, attributes));
  EXPECT_EQ(seen.body, body);
  EXPECT_TRUE(seen.done);
}

TEST_P(RoundTrip, TheGatewayReadsTheResponseThatTheContainerWrote) {
  message::ResponseHead head;
  head.status = static_cast<int>(200 + random.below(800));
  head.reason = "r";
  head.headers = message::HeaderList(arena);
  random.fill(head.headers, arena);
  const std::string body = random.bytes(40000);
  const bool has_length = random.below(2) == 0;
  if (has_length) head.body = {BodyKind::exact, body.size()};
  const auto size = random.below(2) == 0 ? kMinPacket : kMaxPacket;
  ASSERT_TRUE(encode_send_headers(sink, head, size));
  for (std::string_view rest = body; !rest.empty();) {
    if (random.below(3) == 0) encode_flush(sink);
    if (random.below(3) == 0) encode_get_body_chunk(sink, 8186);
    rest.remove_prefix(encode_body_chunk(sink, rest.substr(0, 1 + random.below(20000)), size));
  }
  encode_end_response(sink, Reuse::yes);

  const auto seen = run_response(sink.view(), Method::get, size);
  auto expected = std::to_string(head.status);
  const bool forbidden = head.status == 204 || head.status == 304;
  expected += forbidden ? " none" : has_length ? " exact " + std::to_string(body.size()) : " until_close";
  if (has_length) expected += "|Content-Length=" + std::to_string(body.size());
  for (auto& field : head.headers) {
    if (response_header_code(field.id) != 0) field.name = message::header_name(field.id);
  }
  EXPECT_EQ(seen.error, "");
  EXPECT_EQ(seen.head, expected + text_of(head.headers));
  EXPECT_EQ(seen.body, body);
  EXPECT_TRUE(seen.done);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RoundTrip, ::testing::Range(0u, 200u));

}  // namespace
}  // namespace pontage::ajp13::testing
