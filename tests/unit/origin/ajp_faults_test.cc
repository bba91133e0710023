#include <string>

#include <gtest/gtest.h>

#include "src/origin/faults_ajp.h"
#include "src/origin/origin.h"
#include "tests/unit/origin/ajp_client.h"

namespace pontage::origin {
namespace {

using testing::AjpClient;
using testing::Client;

class OriginAjpFaults : public ::testing::Test {
 protected:
  void ask(const std::string& kind) { client_.send(testing::forward({.path = "/x/fault/" + kind})); }
  // The packets that come, by their first byte, until nothing more does.
  std::string types() {
    std::string seen;
    for (auto payload = client_.packet(); !payload.empty(); payload = client_.packet()) {
      seen += std::to_string(static_cast<unsigned char>(payload[0])) + " ";
    }
    return seen;
  }

  Origin origin_;
  AjpClient client_{origin_.ajp_address()};
};

TEST_F(OriginAjpFaults, ListsThemWhenAskedForAnUnknownOne) {
  const auto answer = client_.get("/fault/interim-forever");
  EXPECT_EQ(answer.status, 404);
  for (const auto& known : ajp_faults())
    EXPECT_NE(answer.body.find("\"" + std::string(known.kind) + "\""), std::string::npos);
}

TEST_F(OriginAjpFaults, ResetsBeforeAnyByte) {
  ask("reset");
  EXPECT_EQ(client_.take_rest(), "");
  EXPECT_EQ(client_.end(), Client::End::reset);
}

TEST_F(OriginAjpFaults, EndTheConnectionInOrderWhereTheySaySo) {
  for (const char* kind : {"close", "garbage", "short", "half-close", "mid-chunk", "after-idle"}) {
    AjpClient client(origin_.ajp_address());
    client.send(testing::forward({.path = std::string("/fault/") + kind}));
    client.take_rest();
    EXPECT_EQ(client.end(), Client::End::fin) << kind;
  }
}

TEST_F(OriginAjpFaults, HangUntilThePeerCloses) {
  for (const char* kind : {"hang", "head-then-hang", "stall", "no-end", "noreuse"}) {
    AjpClient client(origin_.ajp_address());
    client.send(testing::forward({.path = std::string("/fault/") + kind}));
    client.finish_sending();
    client.take_rest();
    EXPECT_EQ(client.end(), Client::End::fin) << kind;
  }
}

TEST_F(OriginAjpFaults, SendPacketsInIllegalOrders) {
  struct Case {
    const char* kind;
    const char* types;
  };
  for (const auto& c : {Case{"two-heads", "4 4 3 5 "}, Case{"double", "4 3 5 4 3 5 "}, Case{"cpong", "9 4 3 5 "},
                        Case{"body-before-head", "3 5 "}, Case{"body-after-end", "4 3 5 3 "},
                        Case{"unknown-code", "42 "}, Case{"misaligned", "4 3 5 "}, Case{"two-lengths", "4 3 5 "},
                        Case{"bad-status", "4 5 "}, Case{"bad-header", "4 5 "}, Case{"nul-header", "4 5 "},
                        Case{"chunk-overrun", "4 3 5 "}, Case{"short-end", "4 3 5 "}, Case{"long", "4 3 5 "},
                        Case{"204-with-body", "4 3 5 "}, Case{"304-with-body", "4 3 5 "}, Case{"slow-head", "4 3 5 "},
                        Case{"half-close", "4 3 5 "}, Case{"noreuse", "4 3 5 "}}) {
    AjpClient client(origin_.ajp_address());
    client.send(testing::forward({.path = std::string("/fault/") + c.kind}));
    client.finish_sending();
    std::string seen;
    for (auto payload = client.packet(); !payload.empty(); payload = client.packet()) {
      seen += std::to_string(static_cast<unsigned char>(payload[0])) + " ";
    }
    EXPECT_EQ(seen, c.types) << c.kind;
  }
}

TEST_F(OriginAjpFaults, SayThatTheConnectionIsOfNoMoreUseAndLeaveItOpen) {
  ask("noreuse");
  const auto answer = client_.answer();
  EXPECT_EQ(answer.body, "good\n");
  EXPECT_FALSE(answer.reuse);
  client_.patience(50);
  EXPECT_FALSE(client_.read_more());
  EXPECT_EQ(client_.end(), Client::End::silence);
}

TEST_F(OriginAjpFaults, SendABodyPacketsMagicAndTooLongALength) {
  ask("wrong-magic");
  EXPECT_EQ(client_.take(2), "\x12\x34");
  AjpClient other(origin_.ajp_address());
  other.send(testing::forward({.path = "/fault/big-head"}));
  EXPECT_EQ(other.take(4), "AB\xff\xff");
}

TEST_F(OriginAjpFaults, AskForABodyAtOddTimesAndKeepTheConnection) {
  ask("ask-body");
  const auto answer = client_.answer();
  EXPECT_EQ(answer.events, "ahbabae");
  EXPECT_EQ(answer.body, "good\n");
  EXPECT_TRUE(answer.reuse);
  EXPECT_EQ(client_.get("/bytes/1").body, "0");
}

TEST_F(OriginAjpFaults, ReadTheFirstBodyPacketBeforeTheyFail) {
  client_.send(testing::forward({.method = 4, .path = "/fault/close", .fields = {{"Content-Length", "3"}}}) +
               testing::body_packet("abc"));
  EXPECT_EQ(client_.take_rest(), "");
  EXPECT_EQ(client_.end(), Client::End::fin);
}

TEST_F(OriginAjpFaults, EveryKindEndsWithTheOrigin) {
  for (const auto& known : ajp_faults()) {
    AjpClient client(origin_.ajp_address());
    client.send(testing::forward({.path = "/fault/" + std::string(known.kind)}));
  }
}

}  // namespace
}  // namespace pontage::origin
