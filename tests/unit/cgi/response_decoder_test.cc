// What the head of a script's answer means (ADAPTERS C1-C3, X7-X9). That cutting it changes nothing is shown by the
// decoder contract.
#include "protocols/cgi/response_decoder.h"

#include <string>

#include <gtest/gtest.h>

namespace pontage::cgi {
namespace {

using message::BodyKind;
using message::HeaderId;
using message::Method;
using wire::DecodeError;

struct Reader {
  message::Arena arena;
  message::ResponseHead head;
  ResponseDecoder decoder{wire::HeadLimits{}};

  // The status, 0 when refused.
  int read(std::string_view text, Method method = Method::get) {
    decoder.reset();
    const auto step = decoder.decode(text, arena, method, head);
    if (!step) {
      error = step.error();
      return 0;
    }
    consumed = step->consumed;
    return step->event == http1::HeadEvent::head ? head.status : -1;
  }
  DecodeError error{};
  std::size_t consumed = 0;
};

TEST(CgiResponse, StatusComesFromItsFieldThenLocationThenContentType) {
  Reader r;
  EXPECT_EQ(r.read("Content-Type: a/b\n\n"), 200);
  EXPECT_EQ(r.read("Location: http://a/b\n\n"), 302);
  EXPECT_EQ(r.read("Location: /b\nStatus: 201 Created\n\n"), 201);
  EXPECT_EQ(r.head.reason, "Created");
  EXPECT_EQ(r.read("HTTP/1.1 418 Teapot\r\nX: y\r\n\r\n"), 418);
  EXPECT_EQ(r.read("HTTP/1.1 404\r\nStatus: 200\r\n\r\n"), 404);
}

TEST(CgiResponse, WithoutAnyOfThemIsRefused) {
  Reader r;
  EXPECT_EQ(r.read("\r\n"), 0);
  EXPECT_EQ(r.read("X-Powered-By: x\r\n\r\n"), 0);
  EXPECT_EQ(r.error, DecodeError::malformed_header);
}

TEST(CgiResponse, MalformedStatusIsRefused) {
  Reader r;
  for (const auto* status : {"404: gone", "4040", "40", "abc", "", "101", "-20", "2 0", "000"}) {
    EXPECT_EQ(r.read("Status: " + std::string(status) + "\nContent-Type: a/b\n\n"), 0) << status;
    EXPECT_EQ(r.error, DecodeError::malformed_status_line) << status;
  }
}

TEST(CgiResponse, FramingAndStatusFieldsAreGone) {
  Reader r;
  ASSERT_EQ(r.read("Status: 200\nTransfer-Encoding: chunked\nSet-Cookie: a\n"
                   "Set-Cookie: b\n\n"),
            200);
  EXPECT_EQ(r.head.headers.size(), 2U);
  EXPECT_EQ(r.head.headers.count(HeaderId::set_cookie), 2U);
  EXPECT_EQ(r.head.body.kind, BodyKind::until_close);
}

TEST(CgiResponse, ALengthIsKeptWhenItIsOne) {
  Reader r;
  ASSERT_EQ(r.read("Status: 200\nContent-Length: 12\nTransfer-Encoding: chunked\n\n"), 200);
  EXPECT_EQ(r.head.body, (message::BodyFraming{BodyKind::exact, 12}));
  for (const auto* length : {"", "-1", "1,1", "0x1", "9223372036854775808"}) {
    EXPECT_EQ(r.read("Status: 200\nContent-Length: " + std::string(length) + "\n\n"), 0) << length;
    EXPECT_EQ(r.error, DecodeError::bad_content_length);
  }
}

TEST(CgiResponse, HeadAndBodilessStatusesHaveNoBody) {
  Reader r;
  ASSERT_EQ(r.read("Content-Type: a/b\nContent-Length: 5\n\n", Method::head), 200);
  EXPECT_EQ(r.head.body.kind, BodyKind::none);
  EXPECT_EQ(r.head.headers.value(HeaderId::content_length), "5");
  for (const auto* status : {"204", "304"}) {
    ASSERT_NE(r.read("Status: " + std::string(status) + "\n\n"), 0);
    EXPECT_EQ(r.head.body.kind, BodyKind::none);
  }
}

TEST(CgiResponse, TheBodyBeginsBehindTheEmptyLineWhateverTheLineEnds) {
  Reader r;
  for (const std::string head : {"Status: 200\n\n", "Status: 200\r\n\r\n", "Status: 200\r\n\n", "Status: 200\n\r\n"}) {
    ASSERT_EQ(r.read(head + "\nbody"), 200);
    EXPECT_EQ(r.consumed, head.size());
  }
}

TEST(CgiResponse, TextsOutliveTheInput) {
  Reader r;
  auto text = std::make_unique<std::string>("Status: 200\nX-Name: value\n\n");
  ASSERT_EQ(r.read(*text), 200);
  text.reset();
  EXPECT_EQ(r.head.headers.find("x-name")->value, "value");
}

TEST(CgiResponse, ABodyBehindAHeadInPiecesIsLeftAlone) {
  Reader r;
  ASSERT_EQ(r.read("Status: 2"), -1);
  EXPECT_TRUE(r.decoder.in_progress());
  const std::string rest = "00\n\n" + std::string(100'000, 'b');
  const auto step = r.decoder.decode(rest, r.arena, Method::get, r.head);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->consumed, 4U);
  EXPECT_FALSE(r.decoder.in_progress());
}

}  // namespace
}  // namespace pontage::cgi
