// A header block becomes the head that HTTP/1 would have given, or is refused.
#include "protocols/http2/request_intake.h"

#include <initializer_list>
#include <utility>

#include <gtest/gtest.h>

namespace pontage::http2 {
namespace {

using message::HeaderId;
using wire::DecodeError;
using Field = std::pair<std::string_view, std::string_view>;

class Intake : public ::testing::Test {
 protected:
  wire::Expected<void, DecodeError> take(std::initializer_list<Field> fields, BodyFollows follows = BodyFollows::no) {
    intake.begin(arena, limits);
    for (const auto& [name, value] : fields) intake.field(name, value);
    return intake.finish(follows, head);
  }
  message::Arena arena;
  wire::HeadLimits limits;
  RequestIntake intake;
  message::RequestHead head;
};

TEST_F(Intake, JoinsCookieCrumbs) {
  ASSERT_TRUE(take({{":method", "GET"},
                    {":scheme", "http"},
                    {":path", "/a?b"},
                    {":authority", "X.example:81"},
                    {"cookie", "a=1"},
                    {"accept", "*/*"},
                    {"cookie", "b=2"}}));
  EXPECT_EQ(head.headers.count(HeaderId::cookie), 1u);
  EXPECT_EQ(head.headers.value(HeaderId::cookie), "a=1; b=2");
  EXPECT_EQ(head.host, "x.example");
  EXPECT_EQ(head.port, 81);
  EXPECT_EQ(head.headers.value(HeaderId::host), "X.example:81");
  EXPECT_EQ(head.target.query, "b");
}

TEST_F(Intake, AuthorityAndHostMustAgree) {
  EXPECT_EQ(take({{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "a"}, {"host", "b"}}).error(),
            DecodeError::malformed_host);
  EXPECT_TRUE(take({{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "a"}, {"host", "A"}}));
  EXPECT_TRUE(take({{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {"host", "a"}}));
  EXPECT_EQ(take({{":method", "GET"}, {":scheme", "http"}, {":path", "/"}}).error(), DecodeError::missing_host);
}

TEST_F(Intake, RefusesWhatWouldBeTwoRequestsOnHttp1) {
  EXPECT_FALSE(take({{":method", "GET /x HTTP/1.1"}, {":scheme", "http"}, {":path", "/"}, {":authority", "a"}}));
  EXPECT_FALSE(take({{":method", "GET"}, {":scheme", "http"}, {":path", "/ HTTP/1.1"}, {":authority", "a"}}));
  EXPECT_FALSE(
      take({{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "a"}, {"x", "1\r\ny: 2"}}));
  EXPECT_FALSE(take({{":method", "GET"}, {":scheme", "http"}, {":path", "http://b/"}, {":authority", "a"}}));
}

TEST_F(Intake, DecidesTheFraming) {
  const auto post = [&](std::initializer_list<Field> fields) { return take(fields, BodyFollows::yes); };
  ASSERT_TRUE(post({{":method", "POST"}, {":scheme", "http"}, {":path", "/"}, {":authority", "a"}}));
  EXPECT_EQ(head.body.kind, message::BodyKind::chunked);
  ASSERT_TRUE(
      post({{":method", "POST"}, {":scheme", "http"}, {":path", "/"}, {":authority", "a"}, {"content-length", "7"}}));
  EXPECT_EQ(head.body.length, 7u);
}

TEST_F(Intake, KeepsTheLimitsOfHttp1) {
  limits.header_count = 1;
  EXPECT_EQ(take({{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "a"}, {"x", "1"}, {"y", "2"}})
                .error(),
            DecodeError::too_many_headers);
}

}  // namespace
}  // namespace pontage::http2
