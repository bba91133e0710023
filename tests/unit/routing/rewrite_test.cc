#include "src/routing/rewrite.h"

#include <gtest/gtest.h>

#include "tests/unit/routing/request_helper.h"

namespace pontage::routing {
namespace {

config::Rewrite prefixes(std::string strip, std::string add) {
  config::Rewrite out;
  out.strip_prefix = std::move(strip);
  out.add_prefix = std::move(add);
  return out;
}

config::Rewrite regex(std::string expression, std::string replacement) {
  config::Rewrite out;
  out.regex = std::move(expression);
  out.replacement = std::move(replacement);
  return out;
}

// The new path; "400" when the rewrite refuses.
std::string rewritten(const config::Rewrite& rewrite, std::string_view target,
                      message::Slashes slashes = message::Slashes::merge) {
  Request request(target, "h", "GET", slashes);
  const auto result = Rewriter(rewrite).apply(request.path, request.arena);
  return result ? std::string(result->path) : "400";
}

TEST(Rewrite, StripsWholeSegmentsOnly) {
  EXPECT_EQ(rewritten(prefixes("/api", ""), "/api/users"), "/users");
  EXPECT_EQ(rewritten(prefixes("/api", ""), "/api/"), "/");
  EXPECT_EQ(rewritten(prefixes("/api", ""), "/api"), "/");
  EXPECT_EQ(rewritten(prefixes("/api", ""), "/apiary"), "/apiary");
  EXPECT_EQ(rewritten(prefixes("/api", ""), "/other/api"), "/other/api");
  EXPECT_EQ(rewritten(prefixes("/a/b", ""), "/a/b/c"), "/c");
}

TEST(Rewrite, AddsPrefixes) {
  EXPECT_EQ(rewritten(prefixes("", "/app"), "/x"), "/app/x");
  EXPECT_EQ(rewritten(prefixes("", "/app"), "/"), "/app/");
  EXPECT_EQ(rewritten(prefixes("/api", "/app"), "/api/x"), "/app/x");
}

TEST(Rewrite, StripsThroughParametersAndKeepsTheLast) {
  EXPECT_EQ(rewritten(prefixes("/api", ""), "/api;v=1/users;jsessionid=X"), "/users;jsessionid=X");
  EXPECT_EQ(rewritten(prefixes("/api", ""), "/api;jsessionid=X"), "/;jsessionid=X");
  EXPECT_EQ(rewritten(prefixes("/a/b", ""), "/a;x/b;y/c"), "/c");
}

TEST(Rewrite, RefusesPrefixesBrokenUpByParameters) {
  EXPECT_EQ(rewritten(prefixes("/api", ""), "/;p/api/x"), "400");
}

TEST(Rewrite, MatchFormHasNoParameters) {
  Request request("/api/a;x=1/b");
  const auto result = Rewriter(prefixes("/api", "/app")).apply(request.path, request.arena);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->path, "/app/a;x=1/b");
  EXPECT_EQ(result->match, "/app/a/b");
}

TEST(Rewrite, ReplacesTheFirstMatch) {
  EXPECT_EQ(rewritten(regex("^/v[0-9]+/(.*)", "/\\1"), "/v1/users"), "/users");
  EXPECT_EQ(rewritten(regex("a", "b"), "/aa"), "/ba");
  EXPECT_EQ(rewritten(regex("/(x)/(y)", "/\\2/\\1/\\0"), "/x/y/z"), "/y/x//x/y/z");
  EXPECT_EQ(rewritten(regex("^/none", "/other"), "/x"), "/x");
}

// CASES P16.
TEST(Rewrite, NeverBeginsWithTwoSlashes) {
  EXPECT_EQ(rewritten(prefixes("/api", ""), "/api//evil.example", message::Slashes::keep), "400");
  EXPECT_EQ(rewritten(regex("^/r(/.*)", "/\\1"), "/r/evil.example"), "400");
  EXPECT_EQ(rewritten(prefixes("/api", ""), "/api//x"), "/x");
}

TEST(Rewrite, RefusesResultsThatAreNotCanonical) {
  EXPECT_EQ(rewritten(regex("^/x(.*)", "/\\1"), "/x../secret"), "400");
  EXPECT_EQ(rewritten(regex("^/x(.*)", "/\\1"), "/x..;a/secret"), "400");
  EXPECT_EQ(rewritten(regex("^/", ""), "/x"), "400");
  EXPECT_EQ(rewritten(regex("^/x$", ""), "/x"), "400");
  EXPECT_EQ(rewritten(regex("x", "%2F"), "/x"), "400");
  EXPECT_EQ(rewritten(regex("x", "%zz"), "/x"), "400");
  EXPECT_EQ(rewritten(regex("x", "%61"), "/x"), "400");
  EXPECT_EQ(rewritten(regex("x", "a b"), "/x"), "400");
  EXPECT_EQ(rewritten(regex("x", "a?b"), "/x"), "400");
}

TEST(Rewrite, EscapesCannotBeAssembled) {
  EXPECT_EQ(rewritten(regex("!", ""), "/%252!F"), "/%252F");
}

TEST(Rewrite, RefusesResultsThatGrowTooLarge) {
  EXPECT_EQ(rewritten(regex("^/(.*)", "/\\1\\1\\1\\1\\1\\1\\1\\1\\1\\1"), "/" + std::string(7000, 'a')), "400");
}

TEST(Rewrite, BrokenRegexRefusesEverything) {
  EXPECT_EQ(rewritten(regex("(", "/x"), "/"), "400");
}

TEST(Rewrite, LeavesTheAsteriskFormAlone) {
  Request request("*", "h", "OPTIONS");
  EXPECT_EQ(Rewriter(prefixes("", "/app")).apply(request.path, request.arena)->path, "*");
}

TEST(Rewrite, WithoutRulesReturnsItsInput) {
  EXPECT_TRUE(Rewriter({}).empty());
  EXPECT_EQ(rewritten({}, "/a/b"), "/a/b");
}

}  // namespace
}  // namespace pontage::routing
