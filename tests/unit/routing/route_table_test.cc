#include "src/routing/route_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/routing/check.h"
#include "tests/unit/routing/request_helper.h"

namespace pontage::routing {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

config::Config routes(std::string_view text) {
  auto loaded = config::load_text("t.yaml", "listeners: [\":0\"]\nroutes:\n" + std::string(text));
  EXPECT_TRUE(loaded.ok()) << render(loaded);
  return std::move(loaded.config);
}

std::vector<std::string> checked(std::string_view text) {
  std::vector<config::Problem> problems;
  check(routes(text), problems);
  std::vector<std::string> out;
  for (const auto& problem : problems) {
    out.push_back(std::to_string(problem.place.line) +
                  (problem.severity == config::Severity::error ? " error " : " warning ") + problem.message);
  }
  return out;
}

TEST(RouteTable, FirstMatchWins) {
  const RouteTable table(
      routes("  - { path: /static/*, respond: a }\n  - { path: [/api/*, /static/x], respond: b }\n  - respond: c\n"));
  const auto index = [&](std::string_view target) {
    Request request(target);
    return table.match(request.head, request.path)->index;
  };
  EXPECT_EQ(index("/static/x"), 0U);
  EXPECT_EQ(index("/api/x"), 1U);
  EXPECT_EQ(index("/"), 2U);
}

TEST(RouteTable, SaysWhenNothingMatches) {
  const RouteTable table(routes("  - { path: /a, respond: a }\n"));
  Request request("/b");
  EXPECT_FALSE(table.match(request.head, request.path));
}

TEST(RouteTable, TellsTheBarePrefix) {
  const RouteTable table(routes("  - { path: /x/*, respond: a }\n"));
  Request bare("/x");
  Request below("/x/");
  EXPECT_TRUE(table.match(bare.head, bare.path)->bare_prefix);
  EXPECT_FALSE(table.match(below.head, below.path)->bare_prefix);
}

TEST(RouteTable, FollowsMergeSlashes) {
  auto config = routes("  - { path: /a/b, respond: a }\n");
  config.merge_slashes = false;
  const RouteTable table(config);
  Request request("/a//b", "h", "GET", message::Slashes::keep);
  EXPECT_FALSE(table.match(request.head, request.path));
}

TEST(Check, ReportsBrokenExpressions) {
  EXPECT_THAT(checked("  - { path: \"~/(a\", respond: a }\n  - { path: /b, rewrite: { regex: \"[\", replacement: x }, "
                      "respond: b }\n"),
              ElementsAre(HasSubstr("3 error route `~/(a`: the expression of the path `~/(a` is wrong"),
                          HasSubstr("4 error route `/b`: the expression `[` of `rewrite` is wrong")));
}

TEST(Check, ReportsReplacementsWithoutTheirGroup) {
  EXPECT_THAT(checked("  - { rewrite: { regex: ^/a, replacement: '/\\1' }, respond: b }\n"),
              ElementsAre(HasSubstr("the replacement `/\\1` is wrong")));
}

TEST(Check, ReportsMalformedEscapes) {
  EXPECT_THAT(checked("  - { path: /%zz, respond: a }\n"), ElementsAre(HasSubstr("malformed %-escape")));
  EXPECT_THAT(checked("  - { path: /a%2fb, respond: a }\n"), ElementsAre(HasSubstr("warning")));
  EXPECT_THAT(checked("  - { path: /a%2fb, encoded_slash: allow, respond: a }\n"), IsEmpty());
}

TEST(Check, KeepsFileOrder) {
  auto config = routes("  - { path: \"~(\", respond: a }\n");
  std::vector<config::Problem> problems{{config::Severity::warning, {9, 1}, "later"},
                                        {config::Severity::warning, {1, 1}, "earlier"}};
  check(config, problems);
  ASSERT_EQ(problems.size(), 3U);
  EXPECT_EQ(problems[0].message, "earlier");
  EXPECT_EQ(problems[2].message, "later");
}

}  // namespace
}  // namespace pontage::routing
