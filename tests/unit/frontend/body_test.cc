// Request bodies of an HTTP/1 session: limits, 100 Continue, early answers, deadlines.
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

std::string chunk(std::string_view data) {
  char size[32];
  std::snprintf(size, sizeof size, "%zx\r\n", data.size());
  return size + std::string(data) + "\r\n";
}

TEST(RequestBody, ReachesTheHandlerHoweverItIsFramed) {
  Gateway gateway(&testing::echo);
  Client client = gateway.connect();
  const std::string big(200'000, 'b');
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n" + big));
  EXPECT_TRUE(client.receive().body == big);
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(big) +
                          chunk("end") + "0\r\nX-Trailer: t\r\n\r\n"));
  EXPECT_TRUE(client.receive().body == big + "end");
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_EQ(client.receive().body, "");
  EXPECT_EQ(gateway.total(Family::request_bytes_total), 400'003);
}

TEST(RequestBody, OverTheLimitIsRefusedBeforeOrWhileItIsRead) {
  config::Config config;
  config.limits.body = 1000;
  std::atomic<int> handled{0};
  Gateway gateway(
      [&](http::Exchange& exchange) {
        ++handled;
        return testing::echo(exchange);
      },
      config);
  Client declared = gateway.connect();
  ASSERT_TRUE(declared.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n"));
  EXPECT_EQ(declared.receive().status, 413);
  EXPECT_EQ(handled.load(), 0) << "no handler is bothered";

  Client chunked = gateway.connect();
  ASSERT_TRUE(
      chunked.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(std::string(1001, 'x'))));
  const Reply reply = chunked.receive();
  EXPECT_EQ(reply.status, 413);
  EXPECT_TRUE(reply.has("Connection: close\r\n"));
  EXPECT_EQ(gateway.total(Family::limit_hits_total), 2);

  Client fits = gateway.connect();
  ASSERT_TRUE(fits.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n" + std::string(1000, 'x')));
  EXPECT_EQ(fits.receive().body.size(), 1000U);
}

TEST(RequestBody, IsInvitedBy100WhenSomebodyWantsIt) {
  Gateway gateway(&testing::echo);
  Client client = gateway.connect();
  ASSERT_TRUE(client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(client.receive().status, 100);
  ASSERT_TRUE(client.send("body"));
  EXPECT_EQ(client.receive().body, "body");
  ASSERT_TRUE(client.send(kGet));
  EXPECT_EQ(client.receive().status, 200) << "the connection goes on";
}

TEST(RequestBody, IsNotInvitedWhenItIsThereAlready) {
  Gateway gateway(&testing::echo);
  Client client = gateway.connect();
  ASSERT_TRUE(client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nbody"));
  EXPECT_EQ(client.receive().status, 200);
}

TEST(RequestBody, IsNeverInvitedWhenNobodyWantsIt) {
  Gateway gateway(&testing::hello);
  Client client = gateway.connect();
  ASSERT_TRUE(client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"));
  const Reply reply = client.receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.has("Connection: close\r\n")) << "whether the body comes is not known";
  client.end_sending();
  EXPECT_TRUE(client.ended());
}

Answer refuse(http::Exchange& exchange) {
  co_return http::make_response(exchange, 403, "text/plain", "no\n");
}

TEST(RequestBody, AnEarlyAnswerArrivesWholeWhileTheClientStillSends) {
  Gateway gateway(&refuse);
  Client client = gateway.connect_tcp();
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\nstart"));
  const Reply reply = client.receive();
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(reply.body, "no\n");
  EXPECT_TRUE(reply.has("Connection: close\r\n"));
  EXPECT_TRUE(client.send(std::string(4'000'000, 'x'))) << "the session reads on for a while";
  client.end_sending();
  EXPECT_TRUE(client.ended()) << "and ends without a reset";
}

TEST(RequestBody, ALargeUnreadOneEndsTheConnectionAndTheHeadSaysSo) {
  Gateway gateway(&testing::hello);
  Client client = gateway.connect();
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\nstart"));
  const Reply reply = client.receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.has("Connection: close\r\n"));
  client.end_sending();
  EXPECT_TRUE(client.ended());
}

TEST(RequestBody, ASmallUnreadOneThatHasArrivedKeepsTheConnection) {
  Gateway gateway(&testing::hello);
  Client client = gateway.connect();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde"));
    const Reply reply = client.receive();
    EXPECT_EQ(reply.body, "hello\n");
    EXPECT_FALSE(reply.has("Connection: close"));
  }
}

TEST(RequestBody, CutShortByTheClientEndsTheExchangeWithoutAnAnswer) {
  Gateway gateway(&testing::echo);
  Client client = gateway.connect();
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc"));
  client.end_sending();
  EXPECT_EQ(client.receive().status, 0);
  while (gateway.sessions() > 0) std::this_thread::yield();
  EXPECT_EQ(gateway.total(Family::requests_in_flight), 0);
  EXPECT_EQ(gateway.total(Family::aborts_total), 1);
}

TEST(RequestBody, ThatStopsComingGets408) {
  config::Config config;
  config.client.body_idle = Millis(30);
  Gateway gateway(&testing::echo, config);
  Client client = gateway.connect();
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc"));
  EXPECT_EQ(client.receive().status, 408);
  client.end_sending();
  EXPECT_TRUE(client.ended());
}

TEST(RequestBody, MalformedChunksAreRefused) {
  Gateway gateway(&testing::echo);
  Client client = gateway.connect();
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"));
  const Reply reply = client.receive();
  EXPECT_EQ(reply.status, 400);
  EXPECT_TRUE(reply.has("Connection: close\r\n"));
  client.end_sending();
  EXPECT_TRUE(client.ended());
}

}  // namespace
}  // namespace pontage::frontend
