#include <string>

#include <gtest/gtest.h>

#include "src/origin/origin.h"
#include "src/origin/pattern.h"
#include "tests/unit/origin/ajp_client.h"

namespace pontage::origin {
namespace {

using testing::AjpClient;
using testing::Client;

class OriginAjp : public ::testing::Test {
 protected:
  Origin origin_;
  AjpClient client_{origin_.ajp_address()};
};

TEST_F(OriginAjp, AnswersCping) {
  client_.send(testing::kPing + testing::kPing);
  EXPECT_EQ(client_.packet(), "\x09");
  EXPECT_EQ(client_.packet(), "\x09");
}

TEST_F(OriginAjp, SendsTheAskedNumberOfBytesInWholePackets) {
  for (const std::size_t size : {0u, 5u, 8184u, 8185u, 300'000u}) {
    const auto answer = client_.get("/app/bytes/" + std::to_string(size));
    EXPECT_EQ(answer.status, 200);
    ASSERT_EQ(answer.body.size(), size);
    EXPECT_TRUE(answer.body.starts_with(pattern(std::min<std::size_t>(size, kPatternPiece))));
    EXPECT_NE(answer.head.find(std::string("\xa0\x03", 2) + testing::text(std::to_string(size))), std::string::npos);
    EXPECT_TRUE(answer.reuse);
  }
}

TEST_F(OriginAjp, SaysNoLengthWhenAsked) {
  const auto answer = client_.get("/bytes/5", "chunked=1&trailer=1");
  EXPECT_EQ(answer.head.find("\xa0\x03"), std::string::npos);
  EXPECT_EQ(answer.body, "01234");
}

TEST_F(OriginAjp, SendsNoBodyToHead) {
  client_.send(testing::forward({.method = 3, .path = "/bytes/500000"}));
  const auto answer = client_.answer();
  EXPECT_EQ(answer.events, "he");
  EXPECT_NE(answer.head.find("500000"), std::string::npos);
}

TEST_F(OriginAjp, TakesTheFirstPacketUnaskedAndAsksForTheRest) {
  const std::string body(pattern(10'000));
  client_.send(testing::forward({.method = 4, .path = "/echo", .fields = {{"Content-Length", "10000"}}}) +
               testing::body_packet(body.substr(0, 8186)));
  const auto answer = client_.answer({body.substr(8186)});
  EXPECT_EQ(answer.body, body);
  EXPECT_NE(answer.events.find('a'), std::string::npos);
  EXPECT_TRUE(answer.reuse);
}

TEST_F(OriginAjp, EchoesABodyOfUnknownLength) {
  client_.send(testing::forward({.method = 4, .path = "/echo"}));
  const auto answer = client_.answer({"abc", "def"});
  EXPECT_EQ(answer.body, "abcdef");
  EXPECT_EQ(answer.events.back(), 'e');
}

TEST_F(OriginAjp, AsksForABodyOnAPlainGet) {
  client_.send(testing::forward({.path = "/upload"}));
  const auto answer = client_.answer();
  EXPECT_EQ(answer.events, "ahbe");
  EXPECT_TRUE(answer.body.starts_with(R"({"bytes":0,)")) << answer.body;
}

TEST_F(OriginAjp, NeverAsksWhenTheLengthIsNought) {
  client_.send(testing::forward({.method = 4, .path = "/upload", .fields = {{"Content-Length", "0"}}}));
  EXPECT_EQ(client_.answer().events, "hbe");
}

TEST_F(OriginAjp, TakesTheFirstPacketOfABodyNobodyReads) {
  const auto post = testing::forward({.method = 4, .path = "/status/200", .fields = {{"Content-Length", "9000"}}});
  client_.send(post + testing::body_packet(std::string(8186, 'x')));
  const auto answer = client_.answer();
  EXPECT_EQ(answer.events, "hbe");
  EXPECT_TRUE(answer.reuse);
  EXPECT_EQ(client_.get("/bytes/1").body, "0");
}

TEST_F(OriginAjp, TellsWhatItSawButNoSecret) {
  client_.send(testing::forward({.path = "/x/info",
                                 .query = "a=b",
                                 .fields = {{"X-A", "1"}},
                                 .attributes = "\x0c" + testing::text("geheim") + "\x06" + testing::text("r7") +
                                               "\x0a" + testing::text("AJP_REMOTE_PORT") + testing::text("4711") +
                                               "\x0a" + testing::text("mine") + testing::text("yes")}));
  const auto body = client_.answer().body;
  for (const char* part :
       {R"("protocol":"ajp")", R"("target":"/x/info?a=b")", R"("headers":[["X-A","1"]])",
        R"("remote_addr":"192.0.2.7")", R"("remote_port":4711)", R"("server_name":"www.example.org")",
        R"("server_port":443)", R"("is_tls":true)", R"("secret":true)", R"("route":"r7")",
        R"("others":[["mine","yes"]])", R"("connection":1,"request":1)"}) {
    EXPECT_NE(body.find(part), std::string::npos) << part << " in " << body;
  }
  EXPECT_EQ(body.find("geheim"), std::string::npos);
}

TEST_F(OriginAjp, FlushesEachLineOfAStream) {
  const auto answer = client_.get("/stream", "n=3&ms=1");
  EXPECT_EQ(answer.body, "data: 0\n\ndata: 1\n\ndata: 2\n\n");
  EXPECT_EQ(answer.events, "hbfbfbfe");
}

TEST_F(OriginAjp, AnswersPipelinedRequestsInOrder) {
  std::string requests;
  for (int i = 0; i < 100; ++i) requests += testing::forward({.path = "/token", .query = "token=" + std::to_string(i)});
  client_.send(requests);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(client_.answer().body, std::to_string(i));
}

TEST_F(OriginAjp, AnswersARequestThatComesByteByByte) {
  for (const char c : testing::forward({.path = "/bytes/2"})) client_.send({&c, 1});
  EXPECT_EQ(client_.answer().body, "01");
}

TEST_F(OriginAjp, AnswersEarlyAndCloses) {
  client_.send(testing::forward({.method = 4, .path = "/early", .fields = {{"Content-Length", "90000"}}}));
  const auto answer = client_.answer();
  EXPECT_EQ(answer.status, 413);
  EXPECT_FALSE(answer.reuse);
  client_.take_rest();
  EXPECT_EQ(client_.end(), Client::End::fin);
}

TEST_F(OriginAjp, EndsTheConnectionOverAHeadThatFitsNoPacket) {
  EXPECT_EQ(client_.get("/headers/7000").status, 200);
  EXPECT_EQ(client_.get("/headers/9000").events, "");
  EXPECT_EQ(client_.end(), Client::End::fin);
}

TEST_F(OriginAjp, SaysNothingToAWrongMagic) {
  client_.send("GET / HTTP/1.1\r\n\r\n");
  client_.finish_sending();
  EXPECT_EQ(client_.take_rest(), "");
  EXPECT_EQ(client_.end(), Client::End::fin);
}

TEST(OriginAjpSecret, RefusesRequestsWithoutIt) {
  OriginOptions options;
  options.secret = "geheim";
  Origin origin(options);
  for (const std::string sent : {"", "falsch", "geheim"}) {
    AjpClient client(origin.ajp_address());
    client.send(testing::forward(
        {.path = "/bytes/1", .attributes = sent.empty() ? std::string() : "\x0c" + testing::text(sent)}));
    const auto answer = client.answer();
    EXPECT_EQ(answer.status, sent == "geheim" ? 200 : 403);
    EXPECT_EQ(answer.reuse, sent == "geheim");
  }
}

TEST(OriginAjpPacketSize, IsAsConfigured) {
  OriginOptions options;
  options.packet_size = 65536;
  Origin origin(options);
  AjpClient client(origin.ajp_address());
  EXPECT_EQ(client.get("/headers/60000").status, 200);
}

}  // namespace
}  // namespace pontage::origin
