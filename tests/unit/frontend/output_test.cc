// Responses of an HTTP/1 session: how they are delimited, and what a broken one looks like from outside.
#include <deque>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "tests/unit/frontend/gateway.h"

namespace pontage::frontend {
namespace {

using http::BodyBatch;
using http::Last;
using message::BodyKind;
using testing::Answer;
using testing::Client;
using testing::Gateway;
using testing::kGet;
using testing::Reply;

// What a response does, one portion a pull.
struct Script {
  message::BodyFraming framing;
  std::deque<std::string> portions;
  enum class End { good, failure } end = End::good;
  std::optional<std::string> trailer{};
  int file = -1;  // sent before the portions
  std::uint64_t file_size = 0;
};

class ScriptedBody final : public http::BodySource {
 public:
  ScriptedBody(Script script, http::Exchange& exchange)
      : script_(std::move(script)), trailers_(exchange.arena), exchange_(&exchange) {}

  net::Task<util::Result<void>> pull(BodyBatch& batch, std::size_t, http::Patience patience) override {
    // The first pull finds nothing ready, as a server that is still thinking.
    if (patience == http::Patience::none) co_return util::Result<void>{};
    if (script_.file >= 0) {
      batch.pieces[batch.count++] = {.memory = {}, .file = std::exchange(script_.file, -1), .count = script_.file_size};
    } else if (!script_.portions.empty()) {
      now_ = std::move(script_.portions.front());
      script_.portions.pop_front();
      batch.add(now_);
    } else if (script_.end == Script::End::failure) {
      co_return util::fail(util::ErrorKind::reset, util::Source::server, "scripted");
    }
    if (script_.portions.empty() && script_.end == Script::End::good) {
      batch.last = Last::yes;
      if (script_.trailer) {
        trailers_.add("X-End", exchange_->arena.copy(*script_.trailer));
        batch.trailers = &trailers_;
      }
    }
    co_return util::Result<void>{};
  }
  void drop() noexcept override { delete this; }

 private:
  Script script_;
  std::string now_;
  message::HeaderList trailers_;
  http::Exchange* exchange_;
};

testing::TestHandler::Run play(Script script) {
  return [script = std::move(script)](http::Exchange& exchange) -> Answer {
    http::Response response;
    response.head.status = 200;
    response.head.headers = message::HeaderList(exchange.arena);
    response.head.body = script.framing;
    response.body = http::BodyPtr(new ScriptedBody(script, exchange));
    co_return response;
  };
}

Reply ask(Script script, std::string_view request = kGet) {
  Gateway gateway(play(std::move(script)));
  Client client = gateway.connect();
  EXPECT_TRUE(client.send(request));
  Reply reply = client.receive();
  if (reply.complete && !reply.has("Connection: close")) {
    EXPECT_TRUE(client.send(request)) << "a complete response leaves the connection usable";
    EXPECT_EQ(client.receive().status, 200);
  } else {
    EXPECT_TRUE(client.ended() || client.was_reset());
  }
  return reply;
}

const message::BodyFraming kChunked{BodyKind::chunked, 0};

TEST(Output, ChunksABodyOfUnknownLength) {
  const Reply reply = ask({.framing = kChunked, .portions = {"one ", "two ", std::string(100'000, 'x')}});
  EXPECT_TRUE(reply.has("Transfer-Encoding: chunked\r\n"));
  EXPECT_FALSE(reply.has("Content-Length"));
  EXPECT_TRUE(reply.complete);
  EXPECT_EQ(reply.body, "one two " + std::string(100'000, 'x'));
}

TEST(Output, SendsTrailersBehindTheLastChunk) {
  const Reply reply = ask({.framing = kChunked, .portions = {"data"}, .trailer = "checksum"});
  EXPECT_TRUE(reply.complete);
  EXPECT_TRUE(reply.has("trailer X-End: checksum"));
}

TEST(Output, EndsABodyOfUnknownLengthByClosingTowardsHttp10) {
  const Reply reply =
      ask({.framing = kChunked, .portions = {"one ", "two"}}, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_FALSE(reply.has("Transfer-Encoding"));
  EXPECT_TRUE(reply.has("Connection: close\r\n"));
  EXPECT_EQ(reply.body, "one two");
  EXPECT_TRUE(reply.complete);
}

TEST(Output, SendsABodyOfKnownLengthInAsManyPortionsAsItComes) {
  const Reply reply =
      ask({.framing = {BodyKind::exact, 3'000'006}, .portions = {"abc", std::string(3'000'000, 'x'), "xyz"}});
  EXPECT_TRUE(reply.complete);
  EXPECT_EQ(reply.body.size(), 3'000'006U);
  EXPECT_TRUE(reply.body.ends_with("xyz"));
}

TEST(Output, SendsAFileBehindTheHead) {
  const std::string content = std::string(700'000, 'f') + "end";
  util::UniqueFd file(::memfd_create("output_test", MFD_CLOEXEC));
  ASSERT_EQ(::write(file.get(), content.data(), content.size()), static_cast<ssize_t>(content.size()));
  const Reply reply = ask(
      {.framing = {BodyKind::exact, content.size()}, .portions = {}, .file = file.get(), .file_size = content.size()});
  EXPECT_TRUE(reply.body == content);
  const Reply cut = ask({.framing = {BodyKind::exact, content.size() + 5},
                         .portions = {},
                         .file = file.get(),
                         .file_size = content.size() + 5});
  EXPECT_FALSE(cut.complete) << "the file became shorter than it was";
}

TEST(Output, ABodyShorterThanPromisedEndsTheConnection) {
  const Reply reply = ask({.framing = {BodyKind::exact, 10}, .portions = {"abcde", ""}});
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(reply.complete);
  EXPECT_EQ(reply.body, "abcde");
}

TEST(Output, ABodyLongerThanPromisedIsNotPassedOn) {
  const Reply reply = ask({.framing = {BodyKind::exact, 5}, .portions = {"abc", "defgh", "i"}});
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(reply.complete);
  EXPECT_EQ(reply.body, "abc");
}

TEST(Output, AFailureInAChunkedBodyLeavesItWithoutItsLastChunk) {
  const Reply reply = ask({.framing = kChunked, .portions = {"one ", "two"}, .end = Script::End::failure});
  EXPECT_EQ(reply.body, "one two");
  EXPECT_FALSE(reply.complete);
}

TEST(Output, AFailureInABodyThatOnlyClosingEndsIsAReset) {
  Gateway gateway(play({.framing = kChunked, .portions = {"one"}, .end = Script::End::failure}));
  Client client = gateway.connect_tcp();
  ASSERT_TRUE(client.send("GET / HTTP/1.0\r\n\r\n"));
  const Reply reply = client.receive();
  EXPECT_FALSE(reply.complete);
  EXPECT_TRUE(client.was_reset());
}

Answer fails(http::Exchange&) {
  co_return util::fail(util::ErrorKind::refused, util::Source::server, "10.1.2.3");
}

TEST(Output, AFailureBeforeTheHeadIsAPageThatTellsNothingOfTheServer) {
  Gateway gateway(&fails);
  Client client = gateway.connect();
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n"));
  const Reply reply = client.receive();
  EXPECT_EQ(reply.status, 502);
  EXPECT_EQ(reply.body.find("10.1.2.3"), std::string::npos);
  EXPECT_FALSE(reply.has("10.1.2.3"));
  ASSERT_TRUE(client.send(kGet));
  EXPECT_EQ(client.receive().status, 502) << "the connection goes on";
}

Answer dated(http::Exchange& exchange) {
  http::Response response = http::make_response(exchange, 200, "text/plain", "x");
  response.head.headers.add(message::HeaderId::date, "Thu, 01 Jan 1970 00:00:00 GMT");
  co_return response;
}

TEST(Output, DateAndServerAreThereOnce) {
  auto count = [](const std::string& text, std::string_view word) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++n;
    return n;
  };
  for (const auto handler : {&testing::hello, &dated}) {
    Gateway gateway(handler);
    Client client = gateway.connect();
    ASSERT_TRUE(client.send(kGet));
    const Reply reply = client.receive();
    EXPECT_EQ(count(reply.head, "\r\nDate: "), 1U);
    EXPECT_EQ(count(reply.head, "\r\nServer: pontage\r\n"), 1U);
    EXPECT_EQ(reply.has("1970"), handler == &dated);
  }
}

}  // namespace
}  // namespace pontage::frontend
