// From CGI variables back to a request, also from those that our own walk makes (ADAPTERS section 3).
#include "protocols/cgi/request_head.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protocols/cgi/response_encoder.h"

namespace pontage::cgi {
namespace {

using wire::DecodeError;
using Pairs = std::vector<std::pair<std::string, std::string>>;

class CgiRequestHead : public testing::Test {
 protected:
  std::optional<DecodeError> read(const Pairs& more, const wire::HeadLimits& limits = {}) {
    VariableList list(arena_);
    Pairs pairs{{"REQUEST_METHOD", "GET"}, {"REQUEST_URI", "/a?b"}, {"SERVER_PROTOCOL", "HTTP/1.1"}};
    for (const auto& [name, value] : more) {
      std::erase_if(pairs, [&name = name](const auto& pair) { return pair.first == name; });
      pairs.emplace_back(name, value);
    }
    for (const auto& [name, value] : pairs) list.add(arena_.copy(name), arena_.copy(value));
    return read_request_head(list, limits, arena_, head_);
  }

  message::Arena arena_;
  message::RequestHead head_;
};

TEST_F(CgiRequestHead, MakesFieldsOfVariables) {
  ASSERT_FALSE(read({{"HTTP_HOST", "A.example.:81"},
                     {"HTTP_ETAG", "e"},
                     {"HTTP_X_SOME_THING", "t"},
                     {"CONTENT_TYPE", "a/b"},
                     {"CONTENT_LENGTH", "7"},
                     {"HTTP_CONTENT_LENGTH", "7"},
                     {"HTTP_CONTENT_TYPE", "a/b"},
                     {"REMOTE_ADDR", "192.0.2.1"}}));
  std::string fields;
  for (const auto& field : head_.headers) fields.append(field.name).append("=").append(field.value).append(" ");
  EXPECT_EQ(fields, "Host=A.example.:81 ETag=e X-Some-Thing=t Content-Type=a/b Content-Length=7 ");
  EXPECT_EQ(head_.host, "a.example");
  EXPECT_EQ(head_.port, 81);
  EXPECT_EQ(head_.target.raw_path, "/a");
  EXPECT_EQ(head_.target.query, "b");
  EXPECT_EQ(head_.body, (message::BodyFraming{message::BodyKind::exact, 7}));
}

TEST_F(CgiRequestHead, TakesTheServersNameForAHost) {
  ASSERT_FALSE(read({{"SERVER_NAME", "B.example"}, {"SERVER_PORT", "8443"}, {"CONTENT_LENGTH", "0"}}));
  EXPECT_EQ(head_.host, "b.example");
  EXPECT_EQ(head_.port, 8443);
  EXPECT_EQ(head_.body.kind, message::BodyKind::none);
  EXPECT_TRUE(head_.headers.empty()) << "a length of 0 is no field";
}

TEST_F(CgiRequestHead, RefusesWhatIsNoRequest) {
  const std::vector<std::pair<Pairs, DecodeError>> cases = {
      {{{"REQUEST_METHOD", ""}}, DecodeError::malformed_request_line},
      {{{"REQUEST_METHOD", "G T"}}, DecodeError::malformed_request_line},
      {{{"REQUEST_URI", ""}}, DecodeError::malformed_target},
      {{{"REQUEST_URI", "/a b"}}, DecodeError::malformed_target},
      {{{"REQUEST_URI", "http://a/"}}, DecodeError::malformed_target},
      {{{"SERVER_PROTOCOL", "INCLUDED"}}, DecodeError::unsupported_version},
      {{{"HTTP_", "x"}}, DecodeError::malformed_header},
      {{{"HTTP_x", "x"}}, DecodeError::malformed_header},
      {{{"HTTP_X", "a\r\nb"}}, DecodeError::malformed_header},
      {{{"CONTENT_TYPE", "a\nb"}}, DecodeError::malformed_header},
      {{{"HTTP_HOST", "a b"}}, DecodeError::malformed_host},
      {{{"CONTENT_LENGTH", "-1"}}, DecodeError::bad_content_length},
      {{{"CONTENT_LENGTH", "5"}, {"HTTP_CONTENT_LENGTH", "6"}}, DecodeError::bad_content_length},
      {{{"HTTP_TRANSFER_ENCODING", "chunked"}}, DecodeError::bad_transfer_encoding},
  };
  for (const auto& [pairs, error] : cases) EXPECT_EQ(read(pairs), error) << pairs[0].first << "=" << pairs[0].second;
}

TEST_F(CgiRequestHead, NamesTheLimitThatWasHit) {
  const wire::HeadLimits limits{.request_line = 20, .header = 40};
  EXPECT_EQ(read({{"REQUEST_URI", "/" + std::string(20, 'x')}}, limits), DecodeError::request_line_too_long);
  EXPECT_EQ(read({{"HTTP_X", std::string(40, 'x')}}, limits), DecodeError::header_too_long);
}

TEST_F(CgiRequestHead, IsWhatTheWalkBeganWith) {
  message::RequestHead began;
  began.method = message::Method::post;
  began.method_text = "POST";
  began.target = *message::parse_target("/x/y?q", began.method);
  message::HeaderList fields(arena_);
  fields.add("Host", "a.example");
  fields.add("X-Odd", "1");
  fields.add("Cookie", "a=b");
  fields.add("Content-Type", "text/x");
  const auto list = make_variables({.head = began,
                                    .headers = fields,
                                    .content_length = 12,
                                    .request_uri = "/x/y?q",
                                    .script_name = "/x/y",
                                    .path_info = {},
                                    .script_filename = {},
                                    .document_root = {},
                                    .server_name = "a.example",
                                    .server_addr = "127.0.0.1",
                                    .server_port = 80,
                                    .remote_addr = "192.0.2.1"},
                                   arena_);
  ASSERT_TRUE(list);
  ASSERT_FALSE(read_request_head(*list, {}, arena_, head_));
  EXPECT_EQ(head_.method_text, "POST");
  EXPECT_EQ(head_.target_text, "/x/y?q");
  EXPECT_EQ(head_.body.length, 12U);
  for (const auto& field : fields) {
    const auto* found = head_.headers.find(field.name);
    ASSERT_NE(found, nullptr) << field.name;
    EXPECT_EQ(found->value, field.value);
  }
}

TEST(CgiResponseHead, TellsStatusFieldsAndLength) {
  message::Arena arena;
  message::ResponseHead head;
  head.status = 404;
  head.headers = message::HeaderList(arena);
  head.headers.add("X-A", "b");
  head.body = {message::BodyKind::exact, 5};
  std::string room(response_head_room(head), '\0');
  wire::Sink field(room);
  encode_response_head(field, head, StatusStyle::field);
  EXPECT_EQ(field.view(), "Status: 404 Not Found\r\nX-A: b\r\nContent-Length: 5\r\n\r\n");
  head.body = {message::BodyKind::chunked, 0};
  wire::Sink line(room);
  encode_response_head(line, head, StatusStyle::line);
  EXPECT_EQ(line.view(), "HTTP/1.1 404 Not Found\r\nX-A: b\r\n\r\n") << "the end of the stream ends it";
}

}  // namespace
}  // namespace pontage::cgi
