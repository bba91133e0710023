#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "src/origin/origin.h"
#include "src/origin/pattern.h"
#include "tests/unit/origin/client.h"

namespace pontage::origin {
namespace {

using testing::Client;

OriginOptions with_route() {
  OriginOptions options;
  options.route = "r1";
  return options;
}

class OriginHttp : public ::testing::Test {
 protected:
  Origin origin_{with_route()};
  Client client_{origin_.http_address()};
};

TEST_F(OriginHttp, SendsTheAskedNumberOfBytes) {
  for (const std::size_t size : {0u, 1u, 64u, 8192u, 8193u, 300'000u}) {
    const auto reply = client_.get("/bytes/" + std::to_string(size));
    EXPECT_EQ(reply.status, 200);
    EXPECT_TRUE(reply.has("Content-Length: " + std::to_string(size) + "\r\n")) << reply.head;
    ASSERT_EQ(reply.body.size(), size);
    bool same = true;
    for (std::size_t i = 0; i < size; ++i) same = same && reply.body[i] == kAlphabet[i % 64];
    EXPECT_TRUE(same);
  }
}

TEST_F(OriginHttp, RefusesNumbersItDoesNotKnow) {
  EXPECT_EQ(client_.get("/bytes/x").status, 400);
  EXPECT_EQ(client_.get("/bytes/1099511627777").status, 400);
  EXPECT_EQ(client_.get("/status/199").status, 400);
  EXPECT_EQ(client_.get("/headers/9999999").status, 400);
}

TEST_F(OriginHttp, WorksBelowAnyPrefix) {
  EXPECT_EQ(client_.get("/app/bytes/5").body, "01234");
  EXPECT_EQ(client_.get("/http/v1/bytes/5").body, "01234");
  EXPECT_EQ(client_.get("/app/").status, 200);
  EXPECT_EQ(client_.get("/app/nothing").status, 404);
}

TEST_F(OriginHttp, TellsTheLengthToHeadWithoutABody) {
  client_.send("HEAD /bytes/1000000 HTTP/1.1\r\nHost: t\r\n\r\nGET /bytes/3 HTTP/1.1\r\nHost: t\r\n\r\n");
  EXPECT_TRUE(client_.reply(true).has("Content-Length: 1000000\r\n"));
  EXPECT_EQ(client_.reply().body, "012");
}

TEST_F(OriginHttp, AnswersPipelinedRequestsInOrder) {
  std::string requests;
  for (int i = 0; i < 500; ++i) requests += "GET /token?token=t" + std::to_string(i) + " HTTP/1.1\r\nHost: t\r\n\r\n";
  client_.send(requests);
  for (int i = 0; i < 500; ++i) {
    const auto reply = client_.reply();
    ASSERT_EQ(reply.body, "t" + std::to_string(i));
    ASSERT_TRUE(reply.has("X-Token: t" + std::to_string(i) + "\r\n"));
  }
}

TEST_F(OriginHttp, AnswersAHeadThatComesByteByByte) {
  for (const char c : std::string("GET /bytes/2 HTTP/1.1\r\nHost: t\r\n\r\n")) client_.send({&c, 1});
  EXPECT_EQ(client_.reply().body, "01");
}

TEST_F(OriginHttp, ChunksAndAddsATrailerWhenAsked) {
  EXPECT_TRUE(client_.get("/bytes/100000?chunked=1").has("Transfer-Encoding: chunked\r\n"));
  const auto reply = client_.get("/bytes/20?trailer=1&token=abc");
  EXPECT_EQ(reply.body, pattern(20));
  EXPECT_EQ(client_.trailers(), "X-Trailer: abc\r\n\r\n");
}

TEST_F(OriginHttp, ClosesAfterAnHttp10Answer) {
  client_.send("GET /bytes/20?chunked=1 HTTP/1.0\r\n\r\n");
  const auto reply = client_.reply();
  EXPECT_FALSE(reply.has("chunked"));
  EXPECT_EQ(reply.body, pattern(20));
  EXPECT_EQ(client_.end(), Client::End::fin);
}

TEST_F(OriginHttp, KeepsAnHttp10ConnectionWhenAsked) {
  for (int i = 0; i < 2; ++i) {
    client_.send("GET /bytes/2 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    const auto reply = client_.reply();
    EXPECT_TRUE(reply.has("Connection: keep-alive\r\n"));
    EXPECT_EQ(reply.body, "01");
  }
}

TEST_F(OriginHttp, EchoesABodyOfKnownLength) {
  const std::string body = std::string(pattern(50'000));
  client_.send("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Type: a/b\r\nContent-Length: 50000\r\n\r\n" + body);
  const auto reply = client_.reply();
  EXPECT_TRUE(reply.has("Content-Length: 50000\r\n"));
  EXPECT_TRUE(reply.has("Content-Type: a/b\r\n"));
  EXPECT_EQ(reply.body, body);
}

TEST_F(OriginHttp, EchoesEachChunkAsItComes) {
  client_.send("POST /app/echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_NE(client_.take_until("\r\n\r\n").find("Transfer-Encoding: chunked"), std::string::npos);
  for (int i = 0; i < 3; ++i) {
    client_.send("3\r\nabc\r\n");
    EXPECT_EQ(client_.take(8), "3\r\nabc\r\n");
  }
  client_.send("0\r\n\r\n");
  EXPECT_EQ(client_.take(5), "0\r\n\r\n");
}

TEST_F(OriginHttp, ContinuesBeforeItReadsABody) {
  client_.send("POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length: 6\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client_.reply().status, 100);
  client_.send("foobar");
  EXPECT_EQ(client_.reply().body, R"({"bytes":6,"fnv":"85944171f73967e8","trailers":[]})");
}

TEST_F(OriginHttp, ClosesWhenABodyWasNeverInvited) {
  client_.send("POST /status/200 HTTP/1.1\r\nHost: t\r\nContent-Length: 6\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_TRUE(client_.reply().has("Connection: close\r\n"));
  client_.take_rest();
  EXPECT_EQ(client_.end(), Client::End::fin);
}

TEST_F(OriginHttp, SumsAnUploadWithItsTrailers) {
  client_.send(
      "POST /upload HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nfoobar\r\n0\r\nX-T: v\r\n\r\n");
  EXPECT_EQ(client_.reply().body, R"({"bytes":6,"fnv":"85944171f73967e8","trailers":[["X-T","v"]]})");
}

TEST_F(OriginHttp, ReadsABodyNobodyAskedForBeforeTheNextRequest) {
  client_.send("POST /status/201 HTTP/1.1\r\nHost: t\r\nContent-Length: 100000\r\n\r\n" + std::string(100'000, 'x'));
  EXPECT_EQ(client_.reply().status, 201);
  EXPECT_EQ(client_.get("/bytes/1").body, "0");
}

TEST_F(OriginHttp, TellsWhatItSaw) {
  client_.get("/bytes/0");
  client_.send("PATCH /app/info?a=b HTTP/1.1\r\nHost: t:1\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(client_.reply().body,
            R"({"protocol":"http","method":"PATCH","target":"/app/info?a=b","path":"/app/info","query":"a=b",)"
            R"("version":"HTTP/1.1","authority":"t:1","headers":[["Host","t:1"],["X-A","1"],["x-a","2"],)"
            R"(["Content-Length","3"]],"body_bytes":3,"connection":1,"request":2})");
}

TEST_F(OriginHttp, GivesASessionWithItsRoute) {
  const auto first = client_.get("/session");
  const auto at = first.head.find("Set-Cookie: JSESSIONID=");
  ASSERT_NE(at, std::string::npos);
  const std::string session = first.head.substr(at + 23, 19);
  EXPECT_TRUE(session.ends_with(".r1"));
  EXPECT_EQ(first.body, R"({"route":"r1","session":")" + session + R"(","new":true})");
  const auto again = client_.get("/session", "Cookie: a=b; JSESSIONID=old.r2; JSESSIONID=" + session + "\r\n");
  EXPECT_FALSE(again.has("Set-Cookie"));
  EXPECT_EQ(again.body, R"({"route":"r1","session":")" + session + R"(","new":false})");
  EXPECT_TRUE(client_.get("/session", "Cookie: JSESSIONID=1.r2;;\r\n").has("Set-Cookie"));
}

TEST_F(OriginHttp, AnswersAnyFinalStatus) {
  EXPECT_EQ(client_.get("/status/503").status, 503);
  EXPECT_TRUE(client_.get("/status/302").has("Location: "));
  for (const char* status : {"204", "304"}) {
    const auto reply = client_.get(std::string("/status/") + status);
    EXPECT_FALSE(reply.has("Content-Length") || reply.has("Transfer-Encoding")) << reply.head;
  }
  EXPECT_EQ(client_.get("/bytes/1").body, "0");
}

TEST_F(OriginHttp, StreamsLineByLine) {
  const auto reply = client_.get("/stream?n=3&ms=1");
  EXPECT_TRUE(reply.has("Content-Type: text/event-stream\r\n"));
  EXPECT_EQ(reply.body, "data: 0\n\ndata: 1\n\ndata: 2\n\n");
}

TEST_F(OriginHttp, SendsTheFirstLineBeforeTheSecondIsDue) {
  client_.send("GET /stream?n=2&ms=60000 HTTP/1.1\r\nHost: t\r\n\r\n");
  client_.take_until("\r\n\r\n");
  EXPECT_EQ(client_.take(14), "9\r\ndata: 0\n\n\r\n");
}

TEST_F(OriginHttp, WaitsAsLongAsAsked) {
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(client_.get("/bytes/1?ms=30&cpu=1000").status, 200);
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(25));
}

TEST_F(OriginHttp, FillsAHeadToTheAskedSize) {
  const auto plain = client_.get("/headers/0").head.size();
  for (const std::size_t size : {100u, 1000u, 2500u, 200'000u}) {
    EXPECT_EQ(client_.get("/headers/" + std::to_string(size)).head.size() - plain, size);
  }
}

TEST_F(OriginHttp, CountsEachExecutionOnce) {
  client_.send("POST /counter?key=a HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\nxx");
  EXPECT_EQ(client_.reply().body, R"({"key":"a","count":1})");
  client_.send("POST /counter?key=a&read=1 HTTP/1.1\r\nHost: t\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(client_.reply().body, R"({"key":"a","count":2})");
  EXPECT_EQ(client_.get("/counter?key=a&read=1").body, R"({"key":"a","count":2})");
  EXPECT_EQ(client_.get("/counter?key=b&read=1").body, R"({"key":"b","count":0})");
}

TEST_F(OriginHttp, RefusesABodyEarlyAndLetsTheAnswerArrive) {
  client_.send("POST /early HTTP/1.1\r\nHost: t\r\nContent-Length: 10000000\r\n\r\n");
  const auto reply = client_.reply();
  EXPECT_EQ(reply.status, 413);
  EXPECT_TRUE(reply.has("Connection: close\r\n"));
  EXPECT_TRUE(client_.send(std::string(100'000, 'x')));
  client_.finish_sending();
  client_.take_rest();
  EXPECT_EQ(client_.end(), Client::End::fin);
}

TEST_F(OriginHttp, SendsInterimResponsesFirst) {
  client_.send("GET /interim HTTP/1.1\r\nHost: t\r\n\r\n");
  const auto hints = client_.reply();
  EXPECT_EQ(hints.status, 103);
  EXPECT_TRUE(hints.has("Link: "));
  EXPECT_EQ(client_.reply().status, 102);
  EXPECT_EQ(client_.reply().status, 200);
}

TEST_F(OriginHttp, AnswersAHalfClosedClient) {
  client_.send("GET /bytes/300000?ms=5 HTTP/1.1\r\nHost: t\r\n\r\n");
  client_.finish_sending();
  EXPECT_EQ(client_.reply().body.size(), 300'000u);
  client_.take_rest();
  EXPECT_EQ(client_.end(), Client::End::fin);
}

TEST_F(OriginHttp, RefusesWhatIsNoHttp) {
  client_.send("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
  const auto reply = client_.reply();
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.body, "duplicate_host");
}

TEST_F(OriginHttp, EndsTheConnectionWhenAsked) {
  EXPECT_TRUE(client_.get("/bytes/1?close=1").has("Connection: close\r\n"));
  client_.take_rest();
  EXPECT_EQ(client_.end(), Client::End::fin);
}

}  // namespace
}  // namespace pontage::origin
