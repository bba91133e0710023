// Which variables a request becomes (ADAPTERS section 3).
#include "protocols/cgi/variables.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pontage::cgi {
namespace {

using message::HeaderId;

struct Bench {
  message::Arena arena;
  message::RequestHead head;
  message::HeaderList headers{arena};
  std::vector<Variable> configured;
  std::vector<std::string_view> underscored;
  Credentials credentials = Credentials::keep;

  Request request() {
    return Request{.head = head,
                   .headers = headers,
                   .content_length = 0,
                   .request_uri = "/app/x.php/a%20b?q=1",
                   .script_name = "/app/x.php",
                   .path_info = "/a b",
                   .script_filename = "/srv/app/x.php",
                   .document_root = "/srv",
                   .server_name = "example.org",
                   .server_addr = "10.0.0.1",
                   .server_port = 443,
                   .remote_addr = "192.0.2.7",
                   .remote_port = 50000,
                   .is_tls = true,
                   .credentials = credentials,
                   .configured = configured,
                   .underscored = underscored};
  }
  // The value of `name`; "-" when it is absent.
  std::string value(std::string_view name) {
    const auto list = make_variables(request(), arena);
    if (!list) return "refused";
    const auto* found = list->find(name);
    return found == nullptr ? "-" : std::string(found->value);
  }
  Bench() {
    head.method = message::Method::post;
    head.target.query = "q=1";
  }
};

TEST(CgiVariables, SayWhatTheRequestIs) {
  Bench b;
  b.headers.add(HeaderId::content_type, "text/plain");
  EXPECT_EQ(b.value("REQUEST_METHOD"), "POST");
  EXPECT_EQ(b.value("QUERY_STRING"), "q=1");
  EXPECT_EQ(b.value("REQUEST_URI"), "/app/x.php/a%20b?q=1");
  EXPECT_EQ(b.value("SCRIPT_NAME"), "/app/x.php");
  EXPECT_EQ(b.value("PATH_INFO"), "/a b");
  EXPECT_EQ(b.value("PATH_TRANSLATED"), "/srv/a b");
  EXPECT_EQ(b.value("SCRIPT_FILENAME"), "/srv/app/x.php");
  EXPECT_EQ(b.value("SERVER_PROTOCOL"), "HTTP/1.1");
  EXPECT_EQ(b.value("SERVER_PORT"), "443");
  EXPECT_EQ(b.value("HTTPS"), "on");
  EXPECT_EQ(b.value("REQUEST_SCHEME"), "https");
  EXPECT_EQ(b.value("REMOTE_PORT"), "50000");
  EXPECT_EQ(b.value("REDIRECT_STATUS"), "200");
  EXPECT_EQ(b.value("CONTENT_TYPE"), "text/plain");
  EXPECT_EQ(b.value("HTTP_CONTENT_TYPE"), "-");
}

TEST(CgiVariables, AlwaysHaveAQueryString) {
  Bench b;
  b.head.target.query = {};
  EXPECT_EQ(b.value("QUERY_STRING"), "");
}

TEST(CgiVariables, BeginWithTheLengthOfTheBody) {
  Bench b;
  auto request = b.request();
  request.content_length = 18446744073709551615U;
  const auto list = make_variables(request, b.arena);
  ASSERT_TRUE(list);
  EXPECT_EQ(list->begin()->name, "CONTENT_LENGTH");
  EXPECT_EQ(list->begin()->value, "18446744073709551615");
}

TEST(CgiVariables, LeavePathInfoOutRatherThanEmpty) {
  Bench b;
  auto request = b.request();
  request.path_info = {};
  const auto list = make_variables(request, b.arena);
  ASSERT_TRUE(list);
  EXPECT_EQ(list->find("PATH_INFO"), nullptr);
  EXPECT_EQ(list->find("PATH_TRANSLATED"), nullptr);
}

TEST(CgiVariables, AreMadeOfFields) {
  Bench b;
  b.headers.add("x-Custom-9", "v");
  b.headers.add("accept", "*/*");
  EXPECT_EQ(b.value("HTTP_X_CUSTOM_9"), "v");
  EXPECT_EQ(b.value("HTTP_ACCEPT"), "*/*");
}

TEST(CgiVariables, JoinRepeatedFieldsInOrder) {
  Bench b;
  for (const auto* value : {"a", "b", "c"}) {
    b.headers.add("X-One", value);
    b.headers.add("Cookie", value);
    b.headers.add("accept", value);
  }
  b.headers.add("x-one", "d");
  EXPECT_EQ(b.value("HTTP_X_ONE"), "a, b, c, d");
  EXPECT_EQ(b.value("HTTP_COOKIE"), "a; b; c");
  EXPECT_EQ(b.value("HTTP_ACCEPT"), "a, b, c");
}

TEST(CgiVariables, NeverComeFromDangerousFields) {
  Bench b;
  for (const auto* name : {"Proxy", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Redirect-Status",
                           "Expect", "TE", "Trailer", "Keep-Alive", "Proxy-Connection"}) {
    b.headers.add(name, "evil");
  }
  const auto list = make_variables(b.request(), b.arena);
  ASSERT_TRUE(list);
  for (const auto& v : *list) EXPECT_NE(v.value, "evil") << v.name;
}

TEST(CgiVariables, KeepCredentialsFromPlainScripts) {
  Bench b;
  b.headers.add("Authorization", "Basic x");
  EXPECT_EQ(b.value("HTTP_AUTHORIZATION"), "Basic x");
  b.credentials = Credentials::drop;
  EXPECT_EQ(b.value("HTTP_AUTHORIZATION"), "-");
}

TEST(CgiVariables, DropNamesWithUnderscoresAndCountThem) {
  Bench b;
  b.headers.add("my_header", "v");
  b.headers.add("dotted.name", "v");
  const auto list = make_variables(b.request(), b.arena);
  ASSERT_TRUE(list);
  EXPECT_EQ(list->underscored_dropped, 2U);
  EXPECT_EQ(list->find("HTTP_MY_HEADER"), nullptr);
  b.underscored = {"My_Header"};
  EXPECT_EQ(b.value("HTTP_MY_HEADER"), "v");
}

TEST(CgiVariables, RefuseTwoNamesForOneVariable) {
  for (const auto* evil : {"x_user", "X.User", "X-Forwarded_For", "Content_Length", "Transfer_Encoding"}) {
    Bench b;
    b.headers.add("X-User", "honest");
    b.headers.add(evil, "evil");
    b.underscored = {evil};
    const auto list = make_variables(b.request(), b.arena);
    ASSERT_FALSE(list) << evil;
    EXPECT_EQ(list.error().reason, Refusal::Reason::conflict);
    EXPECT_EQ(list.error().header, evil);
  }
}

TEST(CgiVariables, TheConfigurationWinsOverFields) {
  Bench b;
  b.configured = {{"HTTP_X_USER", "ours"}, {"APP_ENV", "production"}};
  b.headers.add("X-User", "theirs");
  const auto list = make_variables(b.request(), b.arena);
  ASSERT_TRUE(list);
  std::size_t times = 0;
  for (const auto& v : *list) times += v.name == "HTTP_X_USER" ? 1 : 0;
  EXPECT_EQ(times, 1U);
  EXPECT_EQ(list->find("HTTP_X_USER")->value, "ours");
  EXPECT_EQ(list->find("APP_ENV")->value, "production");
}

TEST(CgiVariables, RefuseNul) {
  Bench b;
  auto request = b.request();
  request.path_info = std::string_view("/a\0b", 4);
  EXPECT_FALSE(make_variables(request, b.arena));
  b.headers.add("X", std::string_view("a\0b", 3));
  EXPECT_FALSE(make_variables(b.request(), b.arena));
}

TEST(CgiVariables, HaveNoNameTwice) {
  Bench b;
  for (int i = 0; i < 60; ++i) b.headers.add(b.arena.copy("X-" + std::to_string(i % 40)), "v");
  const auto list = make_variables(b.request(), b.arena);
  ASSERT_TRUE(list);
  for (const auto& v : *list) EXPECT_EQ(list->find(v.name), &v) << v.name;
}

TEST(CgiVariables, KnowWhatIsComputed) {
  Bench b;
  b.head.method = message::Method::other;
  b.head.method_text = "BREW";
  b.headers.add(HeaderId::content_type, "a/b");
  EXPECT_EQ(b.value("REQUEST_METHOD"), "BREW");
  const auto list = make_variables(b.request(), b.arena);
  ASSERT_TRUE(list);
  for (const auto& v : *list) EXPECT_TRUE(is_computed(v.name)) << v.name;
  EXPECT_FALSE(is_computed("APP_ENV"));
}

}  // namespace
}  // namespace pontage::cgi
