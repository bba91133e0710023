// The order of servers and the routes in session ids (ADAPTERS L1, L5, L6, P37).
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/upstream/balancer.h"
#include "src/upstream/sticky.h"

namespace pontage::upstream {
namespace {

std::string picks(const std::vector<Candidate>& candidates, int count) {
  RoundRobin balancer;
  std::string order;
  for (int i = 0; i < count; ++i) {
    const std::size_t chosen = balancer.pick(candidates);
    order += chosen == kNobody ? '-' : static_cast<char>('a' + chosen);
  }
  return order;
}

TEST(SmoothRoundRobin, SpreadsWeightsEvenly) {
  EXPECT_EQ(picks({{5}, {1}, {1}}, 7), "aabacaa");
  EXPECT_EQ(picks({{1}, {1}}, 4), "abab");
}

TEST(SmoothRoundRobin, GivesNothingToWeightZeroOrWhoeverIsNotEligible) {
  EXPECT_EQ(picks({{0}, {1}}, 3), "bbb");
  EXPECT_EQ(picks({{1, false}, {1}}, 3), "bbb");
  EXPECT_EQ(picks({{0}, {1, false}}, 2), "--");
}

struct SessionRoutes : ::testing::Test {
  std::string all() {
    std::string routes;
    for_each_route(sticky, request, [&](std::string_view route) {
      routes += (routes.empty() ? "" : " ") + std::string(route);
      return false;
    });
    return routes;
  }
  message::Arena arena;
  message::RequestHead request;
  config::Sticky sticky{.cookie = "JSESSIONID", .path_parameter = "jsessionid"};
};

TEST_F(SessionRoutes, ComeFromPathParametersOfAnySegmentFirst) {
  request.headers = message::HeaderList(arena);
  request.headers.add("Cookie", "JSESSIONID=1.b");
  request.target.raw_path = "/app;jsessionid=9.a/x;v=1";
  EXPECT_EQ(all(), "a b");
}

TEST_F(SessionRoutes, ComeFromEveryCookieOfThatNameInEveryField) {
  request.headers = message::HeaderList(arena);
  request.headers.add("Cookie", "x=1; JSESSIONID=1.a; JSESSIONID=\"2.b\"");
  request.headers.add("Cookie", "JSESSIONID=3.c");
  EXPECT_EQ(all(), "a b c");
}

TEST_F(SessionRoutes, NeedTheWholeNameAndASuffix) {
  request.headers = message::HeaderList(arena);
  request.headers.add("Cookie", "XJSESSIONID=1.a; JSESSIONIDX=1.b; JSESSIONID=plain; jsessionid=1.c");
  EXPECT_EQ(all(), "");
}

TEST_F(SessionRoutes, AreTheTextAfterTheFirstDot) {
  request.headers = message::HeaderList(arena);
  request.headers.add("Cookie", "JSESSIONID=1.domain.node");
  EXPECT_EQ(all(), "domain.node");
}

}  // namespace
}  // namespace pontage::upstream
