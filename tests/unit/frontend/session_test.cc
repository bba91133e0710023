// The life of an HTTP/1 session: order, persistence, deadlines, draining, counting.
#include <atomic>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/frontend/gateway.h"

namespace pontage::frontend {
namespace {

using config::Millis;
using observe::Family;
using testing::Answer;
using testing::Client;
using testing::Gateway;
using testing::kGet;
using testing::Reply;

TEST(Http1Session, AnswersPipelinedRequestsInOrder) {
  Gateway gateway(&testing::path);
  Client client = gateway.connect();
  std::string all;
  for (int i = 0; i < 50; ++i) all += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n";
  ASSERT_TRUE(client.send(all));
  for (int i = 0; i < 50; ++i) {
    const Reply reply = client.receive();
    ASSERT_EQ(reply.status, 200);
    ASSERT_EQ(reply.body, "/" + std::to_string(i));
  }
}

TEST(Http1Session, AnswersPipelinedBodiesWithoutMixingThem) {
  Gateway gateway(&testing::echo);
  Client client = gateway.connect();
  ASSERT_TRUE(
      client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nfirst"
                  "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nsec\r\n3\r\nond\r\n0\r\n\r\n"
                  "GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_EQ(client.receive().body, "first");
  EXPECT_EQ(client.receive().body, "second");
  EXPECT_EQ(client.receive().body, "");
}

TEST(Http1Session, ReadsARequestThatComesByteByByte) {
  Gateway gateway(&testing::echo);
  Client client = gateway.connect();
  for (const char c : std::string_view("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")) {
    ASSERT_TRUE(client.send({&c, 1}));
    gateway.on_worker([] {});
  }
  EXPECT_EQ(client.receive().body, "abc");
}

TEST(Http1Session, HeadHasTheLengthAndNoBody) {
  Gateway gateway(&testing::hello);
  Client client = gateway.connect();
  ASSERT_TRUE(client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_TRUE(client.receive(Client::Expect::no_body).has("Content-Length: 6\r\n"));
  ASSERT_TRUE(client.send(kGet));
  EXPECT_EQ(client.receive().body, "hello\n") << "the next response follows at once";
}

TEST(Http1Session, Http10EndsUnlessTheClientAsksOtherwise) {
  Gateway gateway(&testing::hello);
  Client plain = gateway.connect();
  ASSERT_TRUE(plain.send("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(plain.receive().has("Connection: close\r\n"));
  EXPECT_TRUE(plain.ended());

  Client keeps = gateway.connect();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(keeps.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    const Reply reply = keeps.receive();
    EXPECT_EQ(reply.body, "hello\n");
    EXPECT_TRUE(reply.has("Connection: keep-alive\r\n"));
  }
}

TEST(Http1Session, ConnectionCloseIsObeyed) {
  Gateway gateway(&testing::hello);
  Client client = gateway.connect();
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  EXPECT_TRUE(client.receive().has("Connection: close\r\n"));
  EXPECT_TRUE(client.ended());
}

TEST(Http1Session, AHeadThatDoesNotComeToItsEndGets408) {
  config::Config config;
  config.client.head = Millis(30);
  Gateway gateway(&testing::hello, config);
  Client client = gateway.connect();
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost:"));
  const Reply reply = client.receive();
  EXPECT_EQ(reply.status, 408);
  EXPECT_TRUE(reply.has("Connection: close\r\n"));
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(gateway.total(Family::requests_in_flight), 0);
}

TEST(Http1Session, ASilentClientIsClosedWithoutAWord) {
  config::Config config;
  config.client.head = Millis(30);
  Gateway gateway(&testing::hello, config);
  Client client = gateway.connect();
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(gateway.sessions(), 0U);
}

TEST(Http1Session, AnIdleSessionEndsAfterItsKeepAliveTime) {
  config::Config config;
  config.client.keep_alive = Millis(30);
  Gateway gateway(&testing::hello, config);
  Client client = gateway.connect();
  ASSERT_TRUE(client.send(kGet));
  EXPECT_FALSE(client.receive().has("Connection: close"));
  EXPECT_TRUE(client.ended());
}

TEST(Http1Session, RefusesWhatItCannotReadAndEnds) {
  Gateway gateway(&testing::hello);
  const struct {
    std::string request;
    int status;
  } cases[] = {
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
      {"nonsense\r\n\r\n", 400},
      {"GET / HTTP/3.1\r\nHost: a\r\n\r\n", 505},
      {"GET /" + std::string(9000, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n", 414},
      {"GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(20000, 'x') + "\r\n\r\n", 431},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
  };
  for (const auto& c : cases) {
    Client client = gateway.connect();
    ASSERT_TRUE(client.send(c.request));
    const Reply reply = client.receive();
    EXPECT_EQ(reply.status, c.status) << c.request.substr(0, 60);
    EXPECT_TRUE(reply.has("Connection: close\r\n"));
    client.end_sending();
    EXPECT_TRUE(client.ended());
  }
  EXPECT_EQ(gateway.total(Family::requests_in_flight), 0);
}

// A handler that holds its exchange until it is let go.
struct Gate {
  std::atomic<bool> entered{false};
  std::atomic<bool> open{false};
  std::atomic<bool> cancelled{false};
  Answer hold(http::Exchange& exchange) {
    entered.store(true);
    while (!open.load()) {
      net::Pause pause(exchange.reactor().after(4));
      const auto waited = co_await pause;
      if (waited != net::WaitResult::cancelled) continue;
      cancelled.store(true);
      co_return util::fail(util::ErrorKind::cancelled, util::Source::client, "gate");
    }
    co_return http::make_response(exchange, 200, "text/plain", "hello\n");
  }
  void wait_until_entered() const {
    while (!entered.load()) std::this_thread::yield();
  }
};

TEST(Http1Session, DrainingEndsIdleSessionsAtOnceAndBusyOnesAfterTheirExchange) {
  Gate gate;
  Gateway gateway([&](http::Exchange& exchange) { return gate.hold(exchange); });
  Client fresh = gateway.connect();
  Client busy = gateway.connect();
  ASSERT_TRUE(busy.send(kGet));
  gate.wait_until_entered();
  gateway.drain();
  EXPECT_TRUE(fresh.ended());
  EXPECT_EQ(gateway.sessions(), 1U);
  gate.open.store(true);
  const Reply reply = busy.receive();
  EXPECT_EQ(reply.body, "hello\n");
  EXPECT_TRUE(reply.has("Connection: close\r\n"));
  EXPECT_TRUE(busy.ended());
}

TEST(Http1Session, DrainingEndsAtOnceWhoeverIdlesAfterARequestOfAnySize) {
  Gateway gateway(&testing::hello);
  // One that fills the input buffer exactly: whether more has come is then not known without asking.
  const std::string start = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
  const std::string exact = start + std::string(net::ChunkPool::kChunk - start.size() - 4, 'x') + "\r\n\r\n";
  Client first = gateway.connect();
  Client second = gateway.connect();
  ASSERT_TRUE(first.send(kGet));
  ASSERT_TRUE(second.send(exact));
  EXPECT_EQ(first.receive().status, 200);
  EXPECT_EQ(second.receive().status, 200);
  gateway.drain();
  EXPECT_EQ(gateway.sessions(), 0U);
}

TEST(Http1Session, AClientThatLeavesCancelsItsExchange) {
  Gate gate;
  Gateway gateway([&](http::Exchange& exchange) { return gate.hold(exchange); });
  Client client = gateway.connect();
  ASSERT_TRUE(client.send(kGet));
  gate.wait_until_entered();
  EXPECT_EQ(gateway.total(Family::requests_in_flight), 1);
  client.leave();
  while (gateway.sessions() > 0) std::this_thread::yield();
  EXPECT_TRUE(gate.cancelled.load());
  EXPECT_EQ(gateway.total(Family::requests_in_flight), 0);
  EXPECT_EQ(gateway.total(Family::aborts_total), 1);
}

TEST(Http1Session, CancellingAllEndsWhateverGoesOn) {
  Gate gate;
  Gateway gateway([&](http::Exchange& exchange) { return gate.hold(exchange); });
  Client busy = gateway.connect();
  Client half = gateway.connect();
  Client idle = gateway.connect();
  ASSERT_TRUE(busy.send(kGet));
  ASSERT_TRUE(half.send("GET / HT"));
  gate.wait_until_entered();
}  // the gateway's end cancels and waits for every session

}  // namespace
}  // namespace pontage::frontend
