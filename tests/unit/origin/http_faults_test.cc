#include <string>

#include <gtest/gtest.h>

#include "src/origin/faults_http.h"
#include "src/origin/origin.h"
#include "tests/unit/origin/client.h"

namespace pontage::origin {
namespace {

using testing::Client;

class OriginHttpFaults : public ::testing::Test {
 protected:
  void ask(const std::string& kind, const std::string& method = "GET") {
    const std::string body = method == "POST" ? "Content-Length: 3\r\n\r\nabc" : "\r\n";
    client_.send(method + " /x/fault/" + kind + " HTTP/1.1\r\nHost: t\r\n" + body);
  }
  std::string all() { return client_.take_rest(); }

  Origin origin_;
  Client client_{origin_.http_address()};
};

TEST_F(OriginHttpFaults, ListsThemWhenAskedForAnUnknownOne) {
  const auto reply = client_.get("/fault/none-such");
  EXPECT_EQ(reply.status, 404);
  for (const auto& known : http_faults())
    EXPECT_NE(reply.body.find("\"" + std::string(known.kind) + "\""), std::string::npos);
  EXPECT_EQ(client_.get("/bytes/1").body, "0");
}

TEST_F(OriginHttpFaults, ResetsBeforeAnyByte) {
  ask("reset", "POST");
  EXPECT_EQ(all(), "");
  EXPECT_EQ(client_.end(), Client::End::reset);
}

TEST_F(OriginHttpFaults, ClosesBeforeAnyByte) {
  ask("close", "POST");
  EXPECT_EQ(all(), "");
  EXPECT_EQ(client_.end(), Client::End::fin);
}

TEST_F(OriginHttpFaults, EndsABodyShort) {
  ask("short");
  client_.take_until("\r\n\r\n");
  EXPECT_EQ(all().size(), 40u);
  EXPECT_EQ(client_.end(), Client::End::fin);
}

TEST_F(OriginHttpFaults, SendsMoreThanItPromised) {
  ask("long");
  client_.take_until("\r\n\r\n");
  EXPECT_EQ(client_.take(20).size(), 20u);
  EXPECT_EQ(client_.get("/bytes/1").body, "0");
}

TEST_F(OriginHttpFaults, HangsUntilThePeerCloses) {
  for (const char* kind : {"hang", "head-then-hang", "stall", "stall-in-head"}) {
    Client client(origin_.http_address());
    client.send(std::string("GET /fault/") + kind + " HTTP/1.1\r\nHost: t\r\n\r\n");
    client.finish_sending();
    client.take_rest();
    EXPECT_EQ(client.end(), Client::End::fin) << kind;
  }
}

TEST_F(OriginHttpFaults, ClosesAfterPromisingToKeep) {
  ask("half-close");
  const auto reply = client_.reply();
  EXPECT_TRUE(reply.has("keep-alive"));
  EXPECT_EQ(reply.body, "good\n");
  all();
  EXPECT_EQ(client_.end(), Client::End::fin);
}

TEST_F(OriginHttpFaults, ClosesInsideAChunk) {
  ask("mid-chunk");
  EXPECT_TRUE(all().ends_with("\r\n\r\n10\r\n0123456"));
  EXPECT_EQ(client_.end(), Client::End::fin);
}

TEST_F(OriginHttpFaults, DripsAHeadAndKeepsTheConnection) {
  ask("slow-head");
  EXPECT_EQ(client_.reply().body, "good\n");
  EXPECT_EQ(client_.get("/bytes/1").body, "0");
}

TEST_F(OriginHttpFaults, AnswersTwice) {
  ask("double");
  EXPECT_EQ(client_.reply().body, "good\n");
  EXPECT_EQ(client_.reply().body, "bad\n");
}

TEST_F(OriginHttpFaults, SendsAHugeHead) {
  ask("big-head");
  const auto reply = client_.reply();
  EXPECT_GT(reply.head.size(), 200'000u);
  EXPECT_EQ(reply.body, "good\n");
}

TEST_F(OriginHttpFaults, SendsHeadsThatNobodyMayTake) {
  struct Case {
    const char* kind;
    std::string part;
  };
  for (const auto& c : {Case{"bad-header", "a\rSet-Cookie"}, Case{"nul-header", std::string("a\0b", 3)},
                        Case{"bad-status", "HTTP/1.1 20 "}, Case{"two-lengths", "5\r\nContent-Length: 6"},
                        Case{"te-and-length", "5\r\nTransfer-Encoding: chunked"},
                        Case{"204-with-body", "204 No Content"}, Case{"304-with-body", "304 Not Modified"}}) {
    Client client(origin_.http_address());
    client.send(std::string("GET /fault/") + c.kind + " HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
    const std::string got = client.take_rest();
    EXPECT_NE(got.find(c.part), std::string::npos) << c.kind;
    EXPECT_NE(got.find("good\n"), std::string::npos) << c.kind;
    EXPECT_EQ(client.end(), Client::End::fin);
  }
}

TEST_F(OriginHttpFaults, EndsABodyByClosing) {
  ask("no-length-close");
  EXPECT_TRUE(all().ends_with("\r\n\r\ngood\n"));
  EXPECT_EQ(client_.end(), Client::End::fin);
}

TEST_F(OriginHttpFaults, SendsAHundredInterimResponses) {
  ask("interim-forever");
  for (int i = 0; i < 100; ++i) ASSERT_EQ(client_.reply().status, 103);
  EXPECT_EQ(client_.reply().status, 200);
}

TEST_F(OriginHttpFaults, ClosesRightAfterAGoodAnswer) {
  ask("after-idle");
  EXPECT_EQ(client_.reply().body, "good\n");
  all();
  EXPECT_EQ(client_.end(), Client::End::fin);
}

TEST_F(OriginHttpFaults, SaysNothingThatIsHttp) {
  ask("garbage");
  EXPECT_FALSE(all().starts_with("HTTP/"));
  EXPECT_EQ(client_.end(), Client::End::fin);
}

TEST_F(OriginHttpFaults, EveryKindEndsWithTheOrigin) {
  // Nothing is awaited here: the fixture's destructors must end what still hangs, without a leak.
  for (const auto& known : http_faults()) ask(std::string(known.kind));
  for (const auto& known : http_faults()) {
    Client client(origin_.http_address());
    client.send("GET /fault/" + std::string(known.kind) + " HTTP/1.1\r\nHost: t\r\n\r\n");
  }
}

}  // namespace
}  // namespace pontage::origin
