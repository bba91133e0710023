#include "src/routing/matcher.h"

#include <gtest/gtest.h>

#include "tests/unit/routing/request_helper.h"

namespace pontage::routing {
namespace {

Matched match(const config::Match& wanted, const Request& request, message::Slashes slashes = message::Slashes::merge) {
  return Matcher(wanted, slashes).match(request.head, request.path);
}

bool path_matches(std::vector<std::string> paths, std::string_view target) {
  config::Match wanted;
  wanted.paths = std::move(paths);
  return match(wanted, Request(target)) != Matched::no;
}

bool host_matches(std::vector<std::string> hosts, std::string_view host) {
  config::Match wanted;
  wanted.hosts = std::move(hosts);
  return match(wanted, Request("/", host)) != Matched::no;
}

TEST(Matcher, MatchesAnythingWithoutConditions) {
  EXPECT_EQ(match({}, Request("/x?y")), Matched::yes);
  EXPECT_EQ(match({}, Request("*", "h", "OPTIONS")), Matched::yes);
}

TEST(Matcher, ComparesExactPaths) {
  EXPECT_TRUE(path_matches({"/a"}, "/a"));
  EXPECT_TRUE(path_matches({"/a"}, "/a?q"));
  EXPECT_FALSE(path_matches({"/a"}, "/a/"));
  EXPECT_FALSE(path_matches({"/a"}, "/A"));
  EXPECT_FALSE(path_matches({"/a"}, "/ab"));
  EXPECT_TRUE(path_matches({"/a", "/b"}, "/b"));
}

TEST(Matcher, PrefixTakesItselfAndAllBelow) {
  config::Match wanted;
  wanted.paths = {"/x/*"};
  EXPECT_EQ(match(wanted, Request("/x/")), Matched::yes);
  EXPECT_EQ(match(wanted, Request("/x/y/z")), Matched::yes);
  EXPECT_EQ(match(wanted, Request("/x")), Matched::bare_prefix);
  EXPECT_EQ(match(wanted, Request("/xy")), Matched::no);
  EXPECT_EQ(match(wanted, Request("/")), Matched::no);
  EXPECT_TRUE(path_matches({"/*"}, "/"));
  EXPECT_TRUE(path_matches({"/*"}, "/any/thing"));
}

TEST(Matcher, ExactPathBeatsTheBarePrefixOfTheSameRoute) {
  config::Match wanted;
  wanted.paths = {"/x/*", "/x"};
  EXPECT_EQ(match(wanted, Request("/x")), Matched::yes);
}

// CASES P14.
TEST(Matcher, CannotBeWalkedAroundByDotSegments) {
  for (const auto* target :
       {"/pub/%2e%2e/private", "/pub/%2E./private", "/pub/..;/private", "/pub/../private", "/pub/.;a=b/..;c/private"}) {
    EXPECT_FALSE(path_matches({"/pub/*"}, target)) << target;
    EXPECT_TRUE(path_matches({"/private"}, target)) << target;
  }
}

TEST(Matcher, IgnoresPathParameters) {
  EXPECT_TRUE(path_matches({"/admin/*"}, "/admin;x=1/users"));
  EXPECT_TRUE(path_matches({"/a/b"}, "/a;jsessionid=1/b;c"));
  EXPECT_TRUE(path_matches({"~/a/b"}, "/a;x/b"));
}

TEST(Matcher, ComparesEscapesInOneSpelling) {
  EXPECT_TRUE(path_matches({"/~user/*"}, "/%7euser/x"));
  EXPECT_TRUE(path_matches({"/%7Euser/*"}, "/~user/x"));
  EXPECT_TRUE(path_matches({"/caf\xc3\xa9"}, "/caf%c3%a9"));
  EXPECT_TRUE(path_matches({"/a b"}, "/a%20b"));
}

TEST(Matcher, MergesSlashesAsTheGatewayDoes) {
  config::Match wanted;
  wanted.paths = {"/a/b"};
  EXPECT_EQ(match(wanted, Request("//a//b")), Matched::yes);
  const auto keep = message::Slashes::keep;
  EXPECT_EQ(match(wanted, Request("//a//b", "h", "GET", keep), keep), Matched::no);
}

TEST(Matcher, RegexMatchesTheWholePath) {
  EXPECT_TRUE(path_matches({"~/v[0-9]+/.*"}, "/v12/x"));
  EXPECT_FALSE(path_matches({"~/v[0-9]+"}, "/v12/x"));
  EXPECT_FALSE(path_matches({"~v1"}, "/v1"));
  EXPECT_TRUE(path_matches({"/other", "~/v1"}, "/v1"));
}

TEST(Matcher, BrokenRegexMatchesNothing) {
  EXPECT_FALSE(path_matches({"~("}, "/("));
}

TEST(Matcher, RegexTakesLinearTime) {
  EXPECT_FALSE(path_matches({"~/(a*)*b"}, "/" + std::string(8000, 'a')));
}

TEST(Matcher, ComparesHostsWithoutCase) {
  EXPECT_TRUE(host_matches({"www.example.org"}, "www.example.org"));
  EXPECT_TRUE(host_matches({"WWW.example.org"}, "www.EXAMPLE.org"));
  EXPECT_FALSE(host_matches({"www.example.org"}, "example.org"));
  EXPECT_FALSE(host_matches({"www.example.org"}, ""));
  EXPECT_TRUE(host_matches({"[::1]"}, "[::1]"));
}

TEST(Matcher, WildcardHostsNeedOneLabelOrMore) {
  EXPECT_TRUE(host_matches({"*.example.org"}, "a.example.org"));
  EXPECT_TRUE(host_matches({"*.example.org"}, "a.b.example.org"));
  EXPECT_FALSE(host_matches({"*.example.org"}, "example.org"));
  EXPECT_FALSE(host_matches({"*.example.org"}, ".example.org"));
  EXPECT_FALSE(host_matches({"*.example.org"}, "evilexample.org"));
  EXPECT_TRUE(host_matches({"*.example.org", "example.org"}, "example.org"));
}

TEST(Matcher, ComparesMethodsExactly) {
  config::Match wanted;
  wanted.methods = {"GET", "PURGE"};
  EXPECT_EQ(match(wanted, Request("/", "h", "GET")), Matched::yes);
  EXPECT_EQ(match(wanted, Request("/", "h", "PURGE")), Matched::yes);
  EXPECT_EQ(match(wanted, Request("/", "h", "HEAD")), Matched::no);
  EXPECT_EQ(match(wanted, Request("/", "h", "get")), Matched::no);
}

TEST(Matcher, LooksAtEveryFieldOfAName) {
  config::Match wanted;
  wanted.headers = {{"X-Mode", "b"}, {"accept", std::nullopt}};
  Request request("/");
  request.field("x-mode", "a").field("X-MODE", "b").field("Accept", "*/*");
  EXPECT_EQ(match(wanted, request), Matched::yes);
  Request without("/");
  without.field("X-Mode", "b");
  EXPECT_EQ(match(wanted, without), Matched::no);
  Request other("/");
  other.field("X-Mode", "B").field("Accept", "x");
  EXPECT_EQ(match(wanted, other), Matched::no);
}

TEST(Matcher, AllConditionsMustHold) {
  config::Match wanted;
  wanted.hosts = {"a"};
  wanted.paths = {"/x"};
  wanted.queries = {{"q", "1"}};
  EXPECT_EQ(match(wanted, Request("/x?q=1", "a")), Matched::yes);
  EXPECT_EQ(match(wanted, Request("/x?q=1", "b")), Matched::no);
  EXPECT_EQ(match(wanted, Request("/y?q=1", "a")), Matched::no);
  EXPECT_EQ(match(wanted, Request("/x?q=2", "a")), Matched::no);
}

TEST(Query, DecodesNamesAndValues) {
  EXPECT_TRUE(query_has("a=1&b=2", "b", "2"));
  EXPECT_TRUE(query_has("%61=x%20y", "a", "x y"));
  EXPECT_TRUE(query_has("a=x+y", "a", "x y"));
  EXPECT_TRUE(query_has("a=1&a=2", "a", "2"));
  EXPECT_TRUE(query_has("a", "a", std::nullopt));
  EXPECT_TRUE(query_has("a", "a", ""));
  EXPECT_TRUE(query_has("a=b=c", "a", "b=c"));
  EXPECT_TRUE(query_has("a=%zz", "a", "%zz"));
  EXPECT_TRUE(query_has("a=%4", "a", "%4"));
}

TEST(Query, ComparesWholeNamesAndValues) {
  EXPECT_FALSE(query_has("ab=1", "a", std::nullopt));
  EXPECT_FALSE(query_has("a=12", "a", "1"));
  EXPECT_FALSE(query_has("a=1", "a", "12"));
  EXPECT_FALSE(query_has("A=1", "a", std::nullopt));
  EXPECT_FALSE(query_has("", "a", std::nullopt));
  EXPECT_FALSE(query_has("&&", "", std::nullopt));
}

TEST(Cookies, ComparesWholeNames) {
  EXPECT_TRUE(cookie_has("a=1; b=2", "b", "2"));
  EXPECT_TRUE(cookie_has("a=1;b=2", "b", std::nullopt));
  EXPECT_TRUE(cookie_has("a=\"1\"", "a", "1"));
  EXPECT_TRUE(cookie_has("a=b=c", "a", "b=c"));
  EXPECT_FALSE(cookie_has("xa=1", "a", std::nullopt));
  EXPECT_FALSE(cookie_has("a=1", "A", std::nullopt));
  EXPECT_FALSE(cookie_has("x=a=1", "a", std::nullopt));
  EXPECT_FALSE(cookie_has("a", "a", std::nullopt));
  EXPECT_FALSE(cookie_has("", "a", std::nullopt));
}

TEST(Cookies, AreSoughtInEveryField) {
  config::Match wanted;
  wanted.cookies = {{"beta", "1"}};
  Request request("/");
  request.field("Cookie", "a=1").field("cookie", "beta=1");
  EXPECT_EQ(match(wanted, request), Matched::yes);
  Request other("/");
  other.field("X-Cookie", "beta=1");
  EXPECT_EQ(match(wanted, other), Matched::no);
}

}  // namespace
}  // namespace pontage::routing
