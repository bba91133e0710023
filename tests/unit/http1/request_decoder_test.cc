#include <string>

#include <gtest/gtest.h>

#include "protocols/http1/decoder.h"

namespace pontage::http1 {
namespace {

using message::HeaderId;
using message::Persistence;
using wire::DecodeError;

class Requests : public testing::Test {
 protected:
  // Decodes in one piece, from memory that is gone afterwards.
  wire::Expected<HeadStep, DecodeError> decode(std::string_view text, const wire::HeadLimits& limits = {}) {
    decoder_ = RequestDecoder(limits);
    return feed(text);
  }
  wire::Expected<HeadStep, DecodeError> feed(std::string_view text) {
    const std::string copy(text);
    return decoder_.decode(copy, arena_, head_);
  }
  // The error, or nothing of that kind when there is none.
  std::string error(std::string_view text, const wire::HeadLimits& limits = {}) {
    const auto step = decode(text, limits);
    if (!step) return std::string(to_string(step.error()));
    return step->event == HeadEvent::head ? "accepted" : "need_more";
  }
  std::string error_of_field(std::string_view field) {
    return error("GET / HTTP/1.1\r\nHost: a\r\n" + std::string(field) + "\r\n\r\n");
  }

  message::Arena arena_;
  RequestDecoder decoder_{wire::HeadLimits{}};
  message::RequestHead head_;
};

TEST_F(Requests, FillTheWholeHead) {
  const std::string text =
      "POST /a/b?q=1 HTTP/1.1\r\nHost: WWW.Example.org.:8080\r\nContent-Length: 3\r\nX-Empty:\r\n"
      "Expect: 100-Continue\r\nX-Odd:  v \t\xe9 \r\n\r\nabcGET";
  const auto step = decode(text);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->event, HeadEvent::head);
  EXPECT_EQ(step->consumed, text.size() - 6);
  EXPECT_EQ(head_.method, message::Method::post);
  EXPECT_EQ(head_.method_text, "POST");
  EXPECT_EQ(head_.target_text, "/a/b?q=1");
  EXPECT_EQ(head_.target.raw_path, "/a/b");
  EXPECT_EQ(head_.target.query, "q=1");
  EXPECT_EQ(head_.authority, "WWW.Example.org.:8080");
  EXPECT_EQ(head_.host, "www.example.org");
  EXPECT_EQ(head_.port, 8080);
  EXPECT_EQ(head_.version, message::kHttp11);
  EXPECT_EQ(head_.body, (message::BodyFraming{message::BodyKind::exact, 3}));
  EXPECT_TRUE(head_.expect_continue);
  EXPECT_EQ(head_.persistence, Persistence::keep_alive);
  ASSERT_EQ(head_.headers.size(), 5U);
  EXPECT_EQ(head_.headers.find("x-empty")->value, "");
  EXPECT_EQ(head_.headers.find("x-odd")->value, "v \t\xe9");
  EXPECT_EQ(head_.headers.begin()->id, HeaderId::host);
  EXPECT_FALSE(decoder_.in_progress());
}

TEST_F(Requests, ComeOneAfterAnother) {
  const std::string one = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string both = one + "GET /2 HTTP/1.1\r\nHost: b\r\n\r\n";
  EXPECT_EQ(decode(both)->consumed, one.size());
  EXPECT_EQ(head_.target_text, "/1");
  EXPECT_EQ(feed(both.substr(one.size()))->event, HeadEvent::head);
  EXPECT_EQ(head_.host, "b");
}

TEST_F(Requests, InPiecesDoNotSwallowWhatFollows) {
  ASSERT_TRUE(decode("GET / HTT"));
  EXPECT_TRUE(decoder_.in_progress());
  const std::string rest = "P/1.1\r\nHost: a\r\n\r\n";
  const auto step = feed(rest + std::string(5000, 'b'));
  ASSERT_TRUE(step);
  EXPECT_EQ(step->event, HeadEvent::head);
  EXPECT_EQ(step->consumed, rest.size());
  EXPECT_FALSE(decoder_.in_progress());
}

TEST_F(Requests, SkipOneEmptyLineBeforeTheRequestLineOnly) {
  const std::string request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  EXPECT_EQ(decode("\r\n" + request)->consumed, request.size() + 2);
  EXPECT_EQ(error("\r\n\r\n" + request), "malformed_request_line");
  EXPECT_EQ(error("\n" + request), "malformed_request_line");
  EXPECT_EQ(error("\r" + request), "malformed_request_line");
  EXPECT_EQ(error("\r\n"), "need_more");
  EXPECT_FALSE(decoder_.in_progress()) << "an empty line alone is no request";
}

TEST_F(Requests, RequestLineIsThreePartsWithOneSpaceEach) {
  for (const auto* line : {"GET  / HTTP/1.1", "GET /  HTTP/1.1", " GET / HTTP/1.1", "GET / HTTP/1.1 ",
                           "GET /a b HTTP/1.1", "GET /", "GET\t/ HTTP/1.1", "GET HTTP/1.1", "", " ", "G@T / HTTP/1.1",
                           "GET / http/1.1", "GET / HTTP/1.", "GET / HTTP/1.10", "GET / HTTP/11", "GET / HTTP/1,1",
                           "GET / HTTPS/1.1", "GET / HTTP/x.1", "GET /\x01 HTTP/1.1"}) {
    EXPECT_EQ(error(std::string(line) + "\r\nHost: a\r\n\r\n"), "malformed_request_line") << line;
  }
}

TEST_F(Requests, VersionsOtherThanOneAreUnsupported) {
  for (const auto* version : {"HTTP/2.0", "HTTP/0.9", "HTTP/3.1"}) {
    EXPECT_EQ(error("GET / " + std::string(version) + "\r\nHost: a\r\n\r\n"), "unsupported_version") << version;
  }
  EXPECT_EQ(error("GET / HTTP/1.7\r\nHost: a\r\n\r\n"), "accepted");
  EXPECT_EQ(head_.version, message::kHttp11);
}

TEST_F(Requests, LinesEndWithCrlfOnly) {
  EXPECT_EQ(error("GET / HTTP/1.1\nHost: a\n\n"), "malformed_request_line");
  EXPECT_EQ(error("GET / HTTP/1.1\r\nHost: a\n\r\n"), "malformed_header");
  EXPECT_EQ(error("POST / HTTP/1.1\r\nHost: a\rX\nContent-Length: 31\r\n\r\n"), "malformed_header");
  EXPECT_EQ(error("GET / HTTP/1.1\r\nHost: a\r\n\n"), "malformed_header");
  EXPECT_EQ(error("GET / HTTP/1.1\r\nHost: a\r\n\r\r\n"), "malformed_header");
}

TEST_F(Requests, FieldsFollowTheGrammar) {
  for (const auto* field : {"Content-Length : 5", " X: 1", "\tX: 1", ": 1", "X", "X Y: 1", "X\xe9: 1", "X: a\vb",
                            "X: \x7f", "X: \x1f", "X: a\r\n b", "X: a\r\n\tb", "X: a\r\n \t", "(x): 1"}) {
    EXPECT_EQ(error_of_field(field), "malformed_header") << field;
  }
  EXPECT_EQ(error_of_field(std::string("X: a\0b", 6)), "malformed_header");
  EXPECT_EQ(error("GET / HTTP/1.1\r\n Host: a\r\n\r\n"), "malformed_header");
  EXPECT_EQ(error_of_field("X:"), "accepted");
  EXPECT_EQ(error_of_field("X::"), "accepted");
}

TEST_F(Requests, RejectsRequestWithTwoHosts) {
  EXPECT_EQ(error_of_field("Host: a"), "duplicate_host");
  EXPECT_EQ(error_of_field("hOST: b"), "duplicate_host");
}

TEST_F(Requests, NeedOneGoodHostSince11) {
  EXPECT_EQ(error("GET / HTTP/1.1\r\n\r\n"), "missing_host");
  for (const auto* host : {"", "a b", "a,b", "u@a", "a:x", "[::1", ".", "a/b"}) {
    EXPECT_EQ(error("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n"), "malformed_host") << host;
  }
  EXPECT_EQ(error("GET / HTTP/1.0\r\n\r\n"), "accepted");
  EXPECT_EQ(head_.authority, "");
  EXPECT_EQ(head_.host, "");
  EXPECT_EQ(error("GET / HTTP/1.0\r\nHost: a b\r\n\r\n"), "malformed_host");
}

TEST_F(Requests, TheTargetsAuthorityWinsOverHost) {
  EXPECT_EQ(error("GET http://A.example:81/x HTTP/1.1\r\nHost: b.example\r\n\r\n"), "accepted");
  EXPECT_EQ(head_.authority, "A.example:81");
  EXPECT_EQ(head_.host, "a.example");
  EXPECT_EQ(head_.port, 81);
  EXPECT_EQ(error("GET http://a/x HTTP/1.1\r\n\r\n"), "missing_host");
  EXPECT_EQ(error("GET http://u@a/x HTTP/1.1\r\nHost: a\r\n\r\n"), "malformed_target");
  EXPECT_EQ(error("CONNECT b:443 HTTP/1.1\r\nHost: a\r\n\r\n"), "accepted");
  EXPECT_EQ(head_.host, "b");
}

TEST_F(Requests, ConnectionAndVersionDecidePersistence) {
  const auto persistence = [&](const char* version, const char* fields) {
    EXPECT_EQ(error("GET / HTTP/" + std::string(version) + "\r\nHost: a\r\n" + fields + "\r\n"), "accepted");
    return head_.persistence;
  };
  EXPECT_EQ(persistence("1.1", ""), Persistence::keep_alive);
  EXPECT_EQ(persistence("1.1", "Connection: Close\r\n"), Persistence::close);
  EXPECT_EQ(persistence("1.1", "Connection: x\r\nConnection: y, close\r\n"), Persistence::close);
  EXPECT_EQ(persistence("1.1", "Connection: closed\r\n"), Persistence::keep_alive);
  EXPECT_EQ(persistence("1.0", ""), Persistence::close);
  EXPECT_EQ(persistence("1.0", "Connection: Keep-Alive\r\n"), Persistence::keep_alive);
  EXPECT_EQ(persistence("1.0", "Connection: keep-alive, close\r\n"), Persistence::close);
}

TEST_F(Requests, ContinueIsExpectedOn11Only) {
  EXPECT_EQ(error("POST / HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\n\r\n"), "accepted");
  EXPECT_FALSE(head_.expect_continue);
  EXPECT_EQ(error_of_field("Expect: 200-ok"), "accepted");
  EXPECT_FALSE(head_.expect_continue);
}

TEST_F(Requests, AreFramedOnce) {
  EXPECT_EQ(error_of_field("Transfer-Encoding: chunked\t "), "accepted");
  EXPECT_EQ(head_.body.kind, message::BodyKind::chunked);
  EXPECT_EQ(error_of_field("Transfer-Encoding: gzip, chunked"), "unsupported_transfer_encoding");
  EXPECT_EQ(error_of_field("Transfer-Encoding: chunked, chunked"), "bad_transfer_encoding");
  EXPECT_EQ(error_of_field("Transfer-Encoding: \vchunked"), "malformed_header");
  EXPECT_EQ(error_of_field("Content-Length: \r\nContent-Length: 5"), "bad_content_length");
  EXPECT_EQ(error_of_field("Content-Length: 5\r\nTransfer-Encoding: chunked"), "length_and_transfer_encoding");
}

TEST_F(Requests, LimitsAreNamed) {
  const wire::HeadLimits limits{.request_line = 20, .header = 12, .headers = 30, .header_count = 3};
  EXPECT_EQ(error("GET /123456 HTTP/1.1\r\nHost: a\r\n\r\n", limits), "accepted");
  EXPECT_EQ(error("GET /1234567 HTTP/1.1\r\n", limits), "request_line_too_long");
  EXPECT_EQ(error("GET / HTTP/1.1\r\nHost: a\r\nX: 123456789\r\n\r\n", limits), "accepted");
  EXPECT_EQ(error("GET / HTTP/1.1\r\nHost: a\r\nX: 1234567890\r\n", limits), "header_too_long");
  EXPECT_EQ(error("GET / HTTP/1.1\r\nHost: a\r\nX: 1234567\r\nY: 123456\r\n\r\n", limits), "accepted");
  EXPECT_EQ(error("GET / HTTP/1.1\r\nHost: a\r\nX: 1234567\r\nY: 123456789\r\n\r\n", limits), "headers_too_long");
  EXPECT_EQ(error("GET / HTTP/1.1\r\nHost: a\r\nA:\r\nB:\r\n\r\n", limits), "accepted");
  EXPECT_EQ(error("GET / HTTP/1.1\r\nHost: a\r\nA:\r\nB:\r\nC", limits), "too_many_headers");
}

// Memory stays bounded though no line ever ends.
TEST_F(Requests, LimitsTripBeforeTheLineEnds) {
  const wire::HeadLimits limits{.request_line = 20, .header = 30, .headers = 60, .header_count = 3};
  const auto bytes_until_refused = [&](std::string_view start) {
    decoder_ = RequestDecoder(limits);
    EXPECT_TRUE(feed(start));
    std::size_t n = 0;
    while (feed("x")) ++n;
    return n;
  };
  EXPECT_EQ(bytes_until_refused("GET /"), 15U);
  EXPECT_EQ(bytes_until_refused("GET / HTTP/1.1\r\nX: "), 27U);
}

TEST_F(Requests, StayRefusedUntilReset) {
  EXPECT_EQ(error("GET\r\n"), "malformed_request_line");
  const std::string good = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  EXPECT_EQ(feed(good).error(), DecodeError::malformed_request_line);
  decoder_.reset();
  EXPECT_TRUE(feed(good));
}

TEST_F(Requests, TextsOutliveTheInput) {
  std::string text = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
  ASSERT_TRUE(decoder_.decode(text, arena_, head_));
  text.assign(text.size(), '!');
  EXPECT_EQ(head_.method_text, "GET");
  EXPECT_EQ(head_.target.raw_path, "/x");
  EXPECT_EQ(head_.headers.begin()->name, "Host");
  EXPECT_EQ(head_.authority, "a");
}

TEST_F(Requests, IncompleteOnesTakeNothingFromTheArena) {
  arena_.copy("before");
  const auto mark = arena_.mark();
  EXPECT_EQ(error("GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n"), "need_more");
  EXPECT_EQ(arena_.mark().at, mark.at);
  EXPECT_EQ(error("GET / HTTP/1.1\r\nHost: a\r\nX y\r\n"), "malformed_header");
  EXPECT_EQ(arena_.mark().at, mark.at);
}

TEST_F(Requests, TakeOtherLimitsForTheNextHead) {
  const std::string good = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  EXPECT_EQ(error(good), "accepted");
  decoder_.set_limits({.request_line = 5});
  EXPECT_EQ(feed(good).error(), DecodeError::request_line_too_long);
}

}  // namespace
}  // namespace pontage::http1
