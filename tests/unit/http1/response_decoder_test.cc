#include <string>

#include <gtest/gtest.h>

#include "protocols/http1/decoder.h"

namespace pontage::http1 {
namespace {

using message::BodyKind;
using message::Method;
using message::Persistence;
using wire::DecodeError;

class Responses : public testing::Test {
 protected:
  std::string decode(std::string_view text, Method method = Method::get, const wire::HeadLimits& limits = {}) {
    const std::string copy(text);
    decoder_ = ResponseDecoder(limits);
    const auto step = decoder_.decode(copy, arena_, method, head_);
    if (!step) return std::string(to_string(step.error()));
    return step->event == HeadEvent::head ? "accepted" : "need_more";
  }

  message::Arena arena_;
  ResponseDecoder decoder_{wire::HeadLimits{}};
  message::ResponseHead head_;
};

TEST_F(Responses, FillTheWholeHead) {
  EXPECT_EQ(decode("HTTP/1.1 200 Fine \xe9\r\nContent-Length: 5\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\nabcde"),
            "accepted");
  EXPECT_EQ(head_.status, 200);
  EXPECT_EQ(head_.reason, "Fine \xe9");
  EXPECT_EQ(head_.version, message::kHttp11);
  EXPECT_EQ(head_.body, (message::BodyFraming{BodyKind::exact, 5}));
  EXPECT_EQ(head_.headers.size(), 3U);
  EXPECT_EQ(head_.persistence, Persistence::keep_alive);
}

TEST_F(Responses, ReasonMayBeMissing) {
  for (const auto* line : {"HTTP/1.1 200", "HTTP/1.1 200 "}) {
    EXPECT_EQ(decode(std::string(line) + "\r\n\r\n"), "accepted") << line;
    EXPECT_EQ(head_.reason, "");
  }
}

TEST_F(Responses, StatusLineFollowsTheGrammar) {
  for (const auto* line : {"HTTP/1.1 099 x", "HTTP/1.1 20 x", "HTTP/1.1 2000 x", "HTTP/1.1  200 x", "HTTP/1.1 +20 x",
                           "HTTP/1.1 20x", "http/1.1 200", "ICY 200 OK", "", "HTTP/1.1", "HTTP/1.1\t200 x",
                           "HTTP/1.1 200\tOK", " HTTP/1.1 200 OK", "HTTP/1.1 200 O\x01K"}) {
    EXPECT_EQ(decode(std::string(line) + "\r\n\r\n"), "malformed_status_line") << line;
  }
  EXPECT_EQ(decode("\r\nHTTP/1.1 200 OK\r\n\r\n"), "malformed_status_line");
  EXPECT_EQ(decode("HTTP/1.1 200 OK\n\n"), "malformed_status_line");
  EXPECT_EQ(decode("HTTP/2.0 200 OK\r\n\r\n"), "unsupported_version");
  EXPECT_EQ(decode("HTTP/1.1 999 x\r\n\r\n"), "accepted");
}

TEST_F(Responses, RefuseFieldsThatCouldSplitAResponse) {
  for (const auto* field : {"X-A : 1", "X: a\r\n\tb", " \t", "X: a\rb", "X: a\nb", ": x", "X", "X: \x7f"}) {
    EXPECT_EQ(decode("HTTP/1.1 200 OK\r\n" + std::string(field) + "\r\n\r\n"), "malformed_header") << field;
  }
}

TEST_F(Responses, BodiesDependOnRequestAndStatus) {
  const std::string chunked = "\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(decode("HTTP/1.1 200 OK" + chunked, Method::head), "accepted");
  EXPECT_EQ(head_.body.kind, BodyKind::none);
  EXPECT_EQ(decode("HTTP/1.1 204 x" + chunked), "accepted");
  EXPECT_EQ(head_.body.kind, BodyKind::none);
  EXPECT_EQ(decode("HTTP/1.1 200 OK" + chunked), "accepted");
  EXPECT_EQ(head_.body.kind, BodyKind::chunked);
  EXPECT_EQ(decode("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"), "bad_content_length");
  EXPECT_EQ(decode("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
            "length_and_transfer_encoding");
}

TEST_F(Responses, ThatEndWithTheConnectionDoNotPersist) {
  EXPECT_EQ(decode("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\n"), "accepted");
  EXPECT_EQ(head_.body.kind, BodyKind::until_close);
  EXPECT_EQ(head_.persistence, Persistence::close);
  EXPECT_EQ(decode("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"), "accepted");
  EXPECT_EQ(head_.persistence, Persistence::close);
}

TEST_F(Responses, InterimOnesComeBeforeTheFinalOne) {
  const std::string interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
  const std::string text = interim + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  const auto first = decoder_.decode(text, arena_, Method::get, head_);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->consumed, interim.size());
  EXPECT_EQ(head_.status, 103);
  EXPECT_EQ(head_.body.kind, BodyKind::none);
  ASSERT_TRUE(decoder_.decode(std::string_view(text).substr(interim.size()), arena_, Method::get, head_));
  EXPECT_EQ(head_.status, 200);
}

TEST_F(Responses, LimitsAreNamed) {
  const wire::HeadLimits limits{.request_line = 1, .header = 20, .headers = 40, .header_count = 2};
  EXPECT_EQ(decode("HTTP/1.1 200 OK\r\nA:\r\nB:\r\n\r\n", Method::get, limits), "accepted");
  EXPECT_EQ(decode("HTTP/1.1 200 OK\r\nA:\r\nB:\r\nC:\r\n\r\n", Method::get, limits), "too_many_headers");
  EXPECT_EQ(decode("HTTP/1.1 200 OK" + std::string(10, 'x'), Method::get, limits), "header_too_long");
  EXPECT_EQ(decode("HTTP/1.1 200 OK\r\nA: " + std::string(18, 'x'), Method::get, limits), "header_too_long");
}

}  // namespace
}  // namespace pontage::http1
