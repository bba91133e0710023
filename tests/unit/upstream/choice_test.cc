// Which servers an exchange tries, in which order, and how often it may try again.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/upstream/backend.h"

namespace pontage::upstream {
namespace {

class ChoiceTest : public ::testing::Test {
 protected:
  // Servers named a, b, c ... with these weights.
  void build(const std::vector<int>& weights) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      ServerSettings settings;
      settings.name = std::string(1, static_cast<char>('a' + i));
      settings.weight = weights[i];
      config::Server server;
      server.name = settings.name;
      server.weight = weights[i];
      config.servers.push_back(server);
      servers.push_back(
          std::make_shared<BackendServer>("app", settings, std::vector<net::Reactor*>{&reactor}, metrics));
    }
    config.name = "app";
    config.sticky = {.cookie = "JSESSIONID", .path_parameter = "jsessionid"};
    backend = std::make_unique<Backend>(config, servers, 1);
  }
  void take_out(char name) { servers[static_cast<std::size_t>(name - 'a')]->note_connect_failure(reactor.now_ms()); }
  std::string order() {
    exchange.fiber = &fiber;
    Backend::Choice choice(*backend, exchange);
    std::string names;
    while (const auto* server = choice.next()) {
      names += (*server)->name();
      if (names.size() > 100) break;
    }
    return names;
  }
  void cookie(std::string_view value) {
    exchange.request.headers = message::HeaderList(exchange.arena);
    exchange.request.headers.add(message::HeaderId::cookie, value);
  }

  net::Reactor reactor;
  net::Fiber fiber{reactor};
  observe::Metrics metrics;
  http::Exchange exchange{reactor};
  config::Backend config;
  std::vector<std::shared_ptr<BackendServer>> servers;
  std::unique_ptr<Backend> backend;
};

TEST_F(ChoiceTest, OffersEachServerOnce) {
  build({1, 1, 1});
  for (int i = 0; i < 5; ++i) {
    std::string names = order();
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, "abc");
  }
}

TEST_F(ChoiceTest, TheFirstOneGoesRound) {
  build({2, 1});
  std::string firsts;
  for (int i = 0; i < 6; ++i) {
    exchange.fiber = &fiber;
    Backend::Choice choice(*backend, exchange);
    firsts += (*choice.next())->name();
  }
  EXPECT_EQ(firsts, "abaaba");
}

TEST_F(ChoiceTest, TheServerThatTheSessionNamesIsFirst) {
  build({1, 1, 1});
  cookie("JSESSIONID=123.c");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(order().front(), 'c');
  EXPECT_EQ(order().size(), 3U) << "and not offered again";
}

TEST_F(ChoiceTest, WeightZeroServesItsOwnSessionsOnly) {
  build({1, 0});
  EXPECT_EQ(order(), "a");
  cookie("JSESSIONID=123.b");
  EXPECT_EQ(order(), "ba");
}

TEST_F(ChoiceTest, AnUnknownOrUnusableNameMeansANewSession) {
  build({1, 1});
  cookie("JSESSIONID=1.zz");
  EXPECT_EQ(order().size(), 2U);
  cookie("JSESSIONID=1.b");
  take_out('b');
  EXPECT_EQ(order(), "ab");
}

TEST_F(ChoiceTest, ALaterSessionIdCountsWhenAnEarlierOneNamesNobody) {
  build({1, 1, 1});
  cookie("JSESSIONID=1.gone; JSESSIONID=2.c");
  EXPECT_EQ(order().front(), 'c');
}

TEST_F(ChoiceTest, ServersThatAreLeftOutComeLast) {
  build({1, 1, 1});
  take_out('a');
  for (int i = 0; i < 4; ++i) {
    const std::string names = order();
    ASSERT_EQ(names.size(), 3U);
    EXPECT_EQ(names.back(), 'a');
  }
}

TEST_F(ChoiceTest, WhenAllAreOutTheyAreTriedAllTheSame) {
  build({1, 1});
  take_out('a');
  take_out('b');
  EXPECT_EQ(order().size(), 2U);
}

TEST_F(ChoiceTest, NobodyIsOfferedWhereNobodyServes) {
  build({0, 0});
  EXPECT_EQ(order(), "");
}

TEST_F(ChoiceTest, OneSuccessEndsTheTimeOut) {
  build({1});
  take_out('a');
  EXPECT_FALSE(servers[0]->usable(reactor.now_ms()));
  EXPECT_TRUE(servers[0]->usable(reactor.now_ms() + 30'001));
  servers[0]->note_connected();
  EXPECT_TRUE(servers[0]->usable(reactor.now_ms()));
}

TEST_F(ChoiceTest, TimeOutsDoubleUpToHalfAMinute) {
  build({1});
  std::uint64_t now = 1'000'000;
  for (const std::uint64_t out : {1000, 2000, 4000, 8000, 16'000, 30'000, 30'000}) {
    servers[0]->note_connect_failure(now);
    servers[0]->note_connect_failure(now + 1);  // others that failed meanwhile tell nothing new
    EXPECT_FALSE(servers[0]->usable(now + out - 1)) << out;
    EXPECT_TRUE(servers[0]->usable(now + out)) << out;
    now += out;
  }
}

TEST_F(ChoiceTest, RetriesAreAShareOfRequestsBesideASmallStock) {
  config.retry.budget_percent = 20;
  build({1});
  int free = 0;
  while (backend->may_retry(0)) ++free;
  EXPECT_EQ(free, 10);
  for (int i = 0; i < 4; ++i) backend->note_request(0);
  EXPECT_FALSE(backend->may_retry(0));
  backend->note_request(0);
  EXPECT_TRUE(backend->may_retry(0));
  EXPECT_FALSE(backend->may_retry(0));
  for (int i = 0; i < 1'000'000; ++i) backend->note_request(0);
  int saved = 0;
  while (backend->may_retry(0)) ++saved;
  EXPECT_LE(saved, 1000) << "a quiet day does not save up for a storm";
}

}  // namespace
}  // namespace pontage::upstream
