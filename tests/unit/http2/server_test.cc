// The server's end over raw frames: a request in, a response out, and GOAWAY for a flood.
#include "protocols/http2/server.h"

#include <string>

#include <gtest/gtest.h>

namespace pontage::http2 {
namespace {

class OneStream final : public Stream {};

class Recorder final : public ServerEvents {
 public:
  Opened open() noexcept override { return {&stream, &arena, &head}; }
  void on_head(Stream&, wire::Expected<void, wire::DecodeError> result, BodyFollows) noexcept override {
    heads += result ? 1 : 0;
  }
  void on_data(Stream&, std::string_view data) noexcept override { body += data; }
  void on_end(Stream&) noexcept override { ended = true; }
  void on_closed(Stream&, ErrorCode) noexcept override { closed = true; }
  void on_pong() noexcept override {}
  Ready ready(Stream&, std::size_t) noexcept override { return {Ready::End::body, 5}; }
  Put put(std::string_view frame) noexcept override {
    out += frame;
    return Put::taken;
  }
  Put put_data(std::string_view header, Stream&, std::size_t) noexcept override {
    out += header;
    out += "hello";
    return Put::taken;
  }
  void on_sent(Stream&, std::size_t, BodyFollows) noexcept override {}
  void on_unsendable(Stream&) noexcept override {}

  OneStream stream;
  message::Arena arena;
  message::RequestHead head;
  std::string out, body;
  int heads = 0;
  bool ended = false;
  bool closed = false;
};

const std::string kStart("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
// :method GET, :scheme http, :path /, :authority a, as HPACK's static table has them.
const std::string kGet("\0\0\6\1\5\0\0\0\1\x82\x86\x84\x41\1a", 15);

TEST(Server, AnswersARequest) {
  Recorder events;
  Server server(events, {});
  ASSERT_TRUE(server.good());
  ASSERT_EQ(server.receive(kStart + kGet, 0), Fault::none);
  ASSERT_EQ(events.heads, 1);
  EXPECT_EQ(events.head.authority, "a");
  message::ResponseHead head;
  head.status = 200;
  head.headers = message::HeaderList(events.arena);
  head.body = {message::BodyKind::exact, 5};
  ASSERT_TRUE(server.respond(events.stream, head, {"now", "pontage"}, BodyFollows::yes, events.arena));
  EXPECT_EQ(server.send(), Server::Sending::all);
  EXPECT_NE(events.out.find("hello"), std::string::npos);
  EXPECT_TRUE(events.closed);
}

TEST(Server, EndsAFloodWithGoaway) {
  Recorder events;
  Server server(events, {});
  std::string pings;
  for (unsigned i = 0; i <= kPings.burst; ++i) pings += std::string("\0\0\x8\6\0\0\0\0\0", 9) + "12345678";
  EXPECT_EQ(server.receive(kStart + pings, 0), Fault::pings);
  server.send();
  EXPECT_NE(events.out.find(std::string("\7\0\0\0\0\0\0\0\0\0\0\0\0\xb", 14)), std::string::npos);
  EXPECT_TRUE(server.over());
}

}  // namespace
}  // namespace pontage::http2
