// Which request a server is asked with.
#include "src/probe/question.h"

#include <string>

#include <gtest/gtest.h>

#include "src/config/load.h"

namespace pontage::probe {
namespace {

// The question for the one server of backend `app`, with these routes.
Question ask(const std::string& routes, std::string_view path = {}, const std::string& url = "http://10.0.0.1:8080") {
  const auto loaded = config::load_text(
      "test.yaml", "listeners: [\":0\"]\nbackends: { app: { servers: [\"" + url + "\"] } }\nroutes:\n" + routes);
  EXPECT_TRUE(loaded.ok()) << config::render(loaded);
  const auto& backend = loaded.config.backends.at(0);
  return question_for(loaded.config, backend, backend.servers.at(0).url, path);
}

TEST(Question, TheFirstRouteToTheBackendIsAskedFor) {
  const auto question = ask("  - { path: /static/*, files: / }\n  - { path: /app/*, proxy: app }\n  - proxy: app\n");
  EXPECT_EQ(question.path, "/app/");
  EXPECT_EQ(question.forward_path, "/app/");
  EXPECT_EQ(question.host, "10.0.0.1:8080");
}

TEST(Question, WithoutAPathTheRootIsAskedFor) {
  EXPECT_EQ(ask("  - proxy: app\n").path, "/");
  EXPECT_EQ(ask("  - { path: [\"~.*[.]php\"], proxy: app }\n").path, "/") << "an expression names no path";
  EXPECT_EQ(ask("  - respond: nothing leads there\n").path, "/");
}

TEST(Question, ThePathMayBeExact) {
  EXPECT_EQ(ask("  - { path: [\"~x\", /status], proxy: app }\n").path, "/status");
}

TEST(Question, TheRoutesRewriteHolds) {
  const auto question = ask("  - { path: /api/*, rewrite: { strip_prefix: /api, add_prefix: /v2 }, proxy: app }\n");
  EXPECT_EQ(question.path, "/api/");
  EXPECT_EQ(question.forward_path, "/v2/");
}

TEST(Question, TheRoutesHostIsAskedFor) {
  EXPECT_EQ(ask("  - { match: { host: www.example.org }, proxy: app }\n").host, "www.example.org");
  EXPECT_EQ(ask("  - { match: { host: \"*.example.org\" }, proxy: app }\n").host, "probe.example.org");
  EXPECT_EQ(ask("  - proxy: app\n", {}, "http+unix:/run/app.sock").host, "localhost");
  EXPECT_EQ(ask("  - proxy: app\n", {}, "http://[::1]:80").host, "[::1]:80");
}

TEST(Question, AGivenPathTakesTheRoutesPlaceAndIsMadeCanonical) {
  const auto question = ask("  - { path: /api/*, rewrite: { strip_prefix: /api }, proxy: app }\n", "/api/a/../%62?x=1");
  EXPECT_EQ(question.path, "/api/a/../%62?x=1");
  EXPECT_EQ(question.forward_path, "/b");
}

}  // namespace
}  // namespace pontage::probe
