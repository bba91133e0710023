// What a good file means.
#include "src/config/load.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/config/load_helper.h"

namespace pontage::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Config good(std::string_view text) {
  auto loaded = load_text("t.yaml", text);
  EXPECT_THAT(problems_of(loaded), IsEmpty()) << text;
  return std::move(loaded.config);
}

TEST(Load, FillsInEveryDefault) {
  const auto config = good(with(""));
  const Config fresh;
  EXPECT_EQ(config.client.head, fresh.client.head);
  EXPECT_EQ(config.limits.body, fresh.limits.body);
  EXPECT_EQ(config.workers, 0);
  ASSERT_EQ(config.listeners.size(), 1U);
  EXPECT_EQ(config.listeners[0].name, ":8080");
  EXPECT_EQ(config.routes[0].name, "route-1");
}

TEST(Load, ReadsEveryUnit) {
  const auto config =
      good(with("workers: 3\nclient: { head: 250ms, min_rate: 1KiB/s }\nlimits: { body: 10MiB, header_count: 50 "
                "}\nmerge_slashes: off"));
  EXPECT_EQ(config.workers, 3);
  EXPECT_EQ(config.client.head, Millis(250));
  EXPECT_EQ(config.client.min_rate, 1024U);
  EXPECT_EQ(config.limits.body, 10U << 20);
  EXPECT_EQ(config.limits.header_count, 50U);
  EXPECT_FALSE(config.merge_slashes);
}

TEST(Load, ShortAndLongFormsMeanTheSame) {
  const auto long_form =
      good("listeners: [{ bind: \":8080\" }]\nroutes: [{ respond: { body: hello } }]\naccess_log: { file: /x }");
  const auto short_form = good(with("access_log: /x"));
  EXPECT_EQ(long_form.listeners[0].bind, short_form.listeners[0].bind);
  EXPECT_EQ(std::get<RespondAction>(long_form.routes[0].action).body,
            std::get<RespondAction>(short_form.routes[0].action).body);
  EXPECT_EQ(long_form.access_log.file, short_form.access_log.file);
  EXPECT_EQ(short_form.access_log.format, AccessLog::Format::combined);
}

TEST(Load, AccessLogIsOffByWordOrAbsence) {
  EXPECT_EQ(good(with("access_log: off")).access_log.format, AccessLog::Format::off);
  EXPECT_EQ(good(with("")).access_log.format, AccessLog::Format::off);
  EXPECT_EQ(good(with("access_log: { format: json, file: /x }")).access_log.format, AccessLog::Format::json);
}

TEST(Load, NamesServersByAddressUnlessGiven) {
  const auto config = good(with_backend("    servers: [http://a:81, { url: http://b, name: two, weight: 2 }]"));
  const auto& servers = config.backends[0].servers;
  ASSERT_EQ(servers.size(), 2U);
  EXPECT_EQ(servers[0].name, "a:81");
  EXPECT_FALSE(servers[0].named);
  EXPECT_EQ(servers[1].name, "two");
  EXPECT_EQ(servers[1].weight, 2);
}

TEST(Load, StickyCookieNamesThePathParameter) {
  const auto servers = std::string("    servers: [{ url: http://a, name: a }]\n");
  EXPECT_EQ(good(with_backend(servers + "    sticky: JSESSIONID")).backends[0].sticky.path_parameter, "jsessionid");
  const auto config = good(with_backend(servers + "    sticky: { path_parameter: sid, cookie: JSESSIONID }"));
  EXPECT_EQ(config.backends[0].sticky.path_parameter, "sid");
  EXPECT_EQ(config.backends[0].sticky.cookie, "JSESSIONID");
}

TEST(Load, RoundsPacketSizeUp) {
  EXPECT_EQ(good(with_backend("    servers: [ajp://127.0.0.1]\n    packet_size: 9000B")).backends[0].packet_size,
            9216U);
}

TEST(Load, RouteLevelMatchersEqualThoseBelowMatch) {
  const auto brief = good(with_route("path: [/a, /b/*]\n    host: WWW.Example.org.\n    method: GET\n    respond: x"));
  const auto full =
      good(with_route("match: { path: [/a, /b/*], host: www.example.org, method: [GET] }\n    respond: x"));
  EXPECT_EQ(brief.routes[0].match.paths, full.routes[0].match.paths);
  EXPECT_EQ(brief.routes[0].match.hosts, full.routes[0].match.hosts);
  EXPECT_EQ(brief.routes[0].match.methods, full.routes[0].match.methods);
  EXPECT_EQ(brief.routes[0].name, "/a");
}

TEST(Load, ReadsNameMatchesAsMapNameOrList) {
  const auto match =
      good(with_route("match: { header: { X-A: \"1\", X-B: }, query: debug, cookie: [a, b] }\n    respond: x"))
          .routes[0]
          .match;
  ASSERT_EQ(match.headers.size(), 2U);
  EXPECT_EQ(match.headers[0].value, "1");
  EXPECT_EQ(match.headers[1].value, std::nullopt);
  ASSERT_EQ(match.queries.size(), 1U);
  EXPECT_EQ(match.queries[0].name, "debug");
  EXPECT_EQ(match.cookies.size(), 2U);
}

TEST(Load, KeepsHeaderEditsInOrder) {
  const auto route =
      good(with_route("response_headers: { remove: [X-A, X-B], set: { X-C: c }, add: { X-D: d } }\n    respond: x"))
          .routes[0];
  ASSERT_EQ(route.response_headers.size(), 4U);
  EXPECT_EQ(route.response_headers[0].kind, HeaderEdit::Kind::remove);
  EXPECT_EQ(route.response_headers[2].kind, HeaderEdit::Kind::set);
  EXPECT_EQ(route.response_headers[2].value, "c");
  EXPECT_EQ(route.response_headers[3].name, "X-D");
  EXPECT_TRUE(route.request_headers.empty());
}

TEST(Load, ReadsEveryAction) {
  const auto routes =
      good(
          "listeners: [\":0\"]\nroutes:\n  - { path: /a, files: { root: /, index: [], symlinks: none } }\n"
          "  - { path: /b, redirect: { location: /x, status: 308 } }\n  - { path: /c, redirect: https://x.example/ }\n"
          "  - { respond: { status: 404, body: gone } }\n")
          .routes;
  EXPECT_EQ(std::get<FilesAction>(routes[0].action).symlinks, FilesAction::Symlinks::none);
  EXPECT_THAT(std::get<FilesAction>(routes[0].action).index, IsEmpty());
  EXPECT_EQ(std::get<RedirectAction>(routes[1].action).status, 308);
  EXPECT_EQ(std::get<RedirectAction>(routes[2].action).status, 302);
  EXPECT_EQ(std::get<RespondAction>(routes[3].action).status, 404);
}

TEST(Load, ReadsRouteLimitsAndPolicies) {
  const auto route =
      good(with_route(
               "limits: { body: 1MiB }\n    encoded_slash: allow\n    retry_non_idempotent: true\n    respond: x"))
          .routes[0];
  EXPECT_EQ(route.body_limit, 1U << 20);
  EXPECT_EQ(route.encoded_slash, Encoded::allow);
  EXPECT_EQ(route.backslash, Encoded::refuse);
  EXPECT_TRUE(route.retry_non_idempotent);
}

TEST(Load, StripsSlashesAtTheEndOfPrefixes) {
  const auto route = good(with_route("rewrite: { strip_prefix: /api/, add_prefix: /app }\n    respond: x")).routes[0];
  EXPECT_EQ(route.rewrite.strip_prefix, "/api");
  EXPECT_EQ(route.rewrite.add_prefix, "/app");
}

TEST(Load, TakesValuesFromTheEnvironment) {
  ::setenv("PONTAGE_TEST_PORT", "8123", 1);
  ::setenv("PONTAGE_TEST_WORKERS", "4", 1);
  const auto config = good(
      "listeners: [\":${PONTAGE_TEST_PORT}\"]\nroutes: [{ respond: hello }]\nworkers: \"${PONTAGE_TEST_WORKERS}\"");
  EXPECT_EQ(config.listeners[0].bind, ":8123");
  EXPECT_EQ(config.workers, 4);
}

TEST(Load, ReadsSecretsAndRootsBesideTheFile) {
  const auto folder = std::filesystem::temp_directory_path() / ("pontage-config-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "www");
  std::ofstream(folder / "ajp.secret") << "s3cret\r\nmore\n";
  std::ofstream(folder / "t.yaml")
      << "listeners: [\":0\"]\nbackends: { app: { servers: [ajp://10.0.0.1], secret_file: ajp.secret } }\n"
         "routes: [{ path: /a, files: www }, { proxy: app }]\n";
  const auto loaded = load_file((folder / "t.yaml").string());
  EXPECT_THAT(problems_of(loaded), IsEmpty());
  EXPECT_EQ(loaded.config.backends[0].secret, "s3cret");
  EXPECT_EQ(std::get<FilesAction>(loaded.config.routes[0].action).root, (folder / "www").string());
  std::filesystem::remove_all(folder);
}

TEST(Load, SharesAliases) {
  const auto config = good(
      "listeners: [\":0\"]\nbackends:\n  a: { servers: [http://a], timeouts: &slow { first_byte: 5m } }\n"
      "  b: { servers: [http://b], timeouts: *slow }\nroutes: [{ path: /a, proxy: a }, { proxy: b }]\n");
  EXPECT_EQ(config.backends[1].timeouts.first_byte, Millis(300'000));
}

TEST(Load, SaysWhyAFileCannotBeRead) {
  EXPECT_THAT(problems_of(load_file("/nonexistent/t.yaml")),
              ElementsAre("0:0 error cannot read `/nonexistent/t.yaml`: No such file or directory"));
  EXPECT_THAT(problems_of(load_file("/")), ElementsAre("0:0 error cannot read `/`: it is a folder"));
}

}  // namespace
}  // namespace pontage::config
