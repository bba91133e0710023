// The keys of servers that are spoken to in CGI variables, and of buffering.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/load_helper.h"

namespace pontage::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string with_server(std::string_view url, std::string_view keys) {
  return with_backend("    servers: [\"" + std::string(url) + "\"]\n" + std::string(keys));
}

TEST(CgiKeys, ReadsAMapping) {
  const auto text = with_server("fastcgi+unix:/run/php.sock",
                                "    document_root: /srv/www/\n    index: app.php\n    extensions: [.php, .phtml]\n"
                                "    params: { APP_ENV: test }\n    underscored: X_Odd\n    keep_alive: true");
  const auto loaded = load_text("t.yaml", text);
  ASSERT_THAT(problems_of(loaded), IsEmpty());
  const auto& backend = loaded.config.backends[0];
  EXPECT_EQ(backend.cgi.document_root, "/srv/www");
  EXPECT_EQ(backend.cgi.index, "app.php");
  EXPECT_THAT(backend.cgi.extensions, ElementsAre(".php", ".phtml"));
  ASSERT_EQ(backend.cgi.params.size(), 1U);
  EXPECT_EQ(backend.cgi.params[0].name, "APP_ENV");
  EXPECT_THAT(backend.cgi.underscored, ElementsAre("x_odd"));
  EXPECT_TRUE(backend.keep_alive);
  EXPECT_FALSE(backend.request_buffering.has_value());
}

TEST(CgiKeys, KnowsTheUsualPorts) {
  for (const auto& [url, port] : {std::pair{"fastcgi://a", 9000}, {"scgi://a", 4000}, {"uwsgi://a", 3031}}) {
    EXPECT_EQ(load_text("t.yaml", with_server(url, "")).config.backends[0].servers[0].url.port, port) << url;
  }
}

TEST(CgiKeys, RefusesVariablesThatMeanSomethingElse) {
  const auto of = [](std::string_view params) {
    return problems_of(with_server("fastcgi://a", "    params: " + std::string(params)));
  };
  EXPECT_THAT(of("{ SCRIPT_FILENAME: /x }"), ElementsAre(HasSubstr("is computed from the request")));
  EXPECT_THAT(of("{ HTTP_PROXY: x }"), ElementsAre(HasSubstr("stands for a field")));
  EXPECT_THAT(of("{ \"A=B\": x }"), ElementsAre(HasSubstr("no name of a variable")));
}

TEST(CgiKeys, RefusesWhatIsNoPath) {
  const auto of = [](std::string_view keys) { return problems_of(with_server("fastcgi://a", keys)); };
  EXPECT_THAT(of("    document_root: www"), ElementsAre(HasSubstr("a path that starts with `/`")));
  EXPECT_THAT(of("    document_root: /w\n    index: a/b.php"), ElementsAre(HasSubstr("the name of a file")));
  EXPECT_THAT(of("    document_root: /w\n    extensions: php"), ElementsAre(HasSubstr("starts with a dot")));
  EXPECT_THAT(of("    script: a.php"), ElementsAre(HasSubstr("an absolute path")));
  EXPECT_THAT(of("    underscored: X-Fine"), ElementsAre(HasSubstr("has no underscore")));
}

TEST(CgiKeys, WarnsOfKeysWithoutEffect) {
  EXPECT_THAT(problems_of(with_server("http://a", "    document_root: /w")), ElementsAre(HasSubstr("has no effect")));
  EXPECT_THAT(problems_of(with_server("scgi://a", "    keep_alive: true")),
              ElementsAre(HasSubstr("no FastCGI server")));
  EXPECT_THAT(problems_of(with_server("scgi://a", "    max_vars: 8KiB")), ElementsAre(HasSubstr("no uwsgi server")));
  EXPECT_THAT(problems_of(with_server("scgi://a", "    index: x.php")), ElementsAre(HasSubstr("`document_root`")));
  EXPECT_THAT(problems_of(with_server("fastcgi://a", "    document_root: /w\n    script_name: /x")),
              ElementsAre(HasSubstr("`script_name` has no effect")));
}

TEST(CgiKeys, BufferingIsOfTheRouteElseOfTheBackend) {
  const auto loaded = load_text("t.yaml", with_server("http://a", "    request_buffering: on"));
  ASSERT_THAT(problems_of(loaded), IsEmpty());
  EXPECT_EQ(loaded.config.backends[0].request_buffering, Buffering::on);
  const auto route = load_text("t.yaml", with_route("respond: x\n    request_buffering: off"));
  EXPECT_EQ(route.config.routes[0].request_buffering, Buffering::off);
  EXPECT_THAT(problems_of(with_server("http://a", "    request_buffering: yes")),
              ElementsAre(HasSubstr("`auto`, `off`, `on`")));
}

}  // namespace
}  // namespace pontage::config
