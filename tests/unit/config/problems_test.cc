// What is wrong with a bad file: positions, sentences, order.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/load_helper.h"

namespace pontage::config {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST(Problems, SuggestsTheKeyThatWasMeant) {
  EXPECT_THAT(
      problems_of("liseners: [\":80\"]\nroutes: [{ respond: x }]\n"),
      ElementsAre("1:1 error unknown key `liseners`; did you mean `listeners`?", "1:1 error `listeners` is missing"));
}

TEST(Problems, SaysWhereAKeyBelongs) {
  EXPECT_THAT(problems_of(with("head: 10s")), ElementsAre("3:1 error unknown key `head`; it belongs in `client`"));
  EXPECT_THAT(problems_of(with_route("respond: x\n    workers: 2")),
              ElementsAre("4:5 error unknown key `workers`; it belongs at the top of the file"));
  EXPECT_THAT(problems_of(with("zzzzzzzz: 1")), ElementsAre("3:1 error unknown key `zzzzzzzz` at the top of the file"));
}

TEST(Problems, ReportsAllAtOnceInFileOrder) {
  const auto problems = problems_of(
      "workers: many\nlisteners: [\"80\"]\nroutes:\n  - pth: /x\n    respond: x\n  - proxy: nowhere\nclient: { head: "
      "10 }\n");
  ASSERT_EQ(problems.size(), 6U) << testing::PrintToString(problems);
  EXPECT_THAT(problems[0], StartsWith("1:10 error `workers`: expected a decimal whole number, or `auto`"));
  EXPECT_THAT(problems[1], StartsWith("2:13 error `bind`"));
  EXPECT_THAT(problems[2], StartsWith("4:5 error unknown key `pth`; did you mean `path`?"));
  EXPECT_THAT(problems[3], StartsWith("6:5 warning no request reaches this route"));
  EXPECT_THAT(problems[4], StartsWith("6:12 error there is no backend `nowhere`"));
  EXPECT_THAT(problems[5], StartsWith("7:17 error `head`: the unit is missing"));
}

TEST(Problems, RefusesDoubledKeys) {
  EXPECT_THAT(problems_of(with("workers: 1\nworkers: 2")), ElementsAre("4:1 error `workers` stands here twice"));
  EXPECT_THAT(problems_of(with_backend("    servers: [http://a]\n  app:\n    servers: [http://b]")),
              ElementsAre("6:3 error `app` stands here twice"));
  EXPECT_THAT(problems_of(with_route("respond: x\n    match: { header: { A: 1, A: 2 } }")),
              ElementsAre("4:30 error `A` stands here twice"));
}

TEST(Problems, RefusesMergeKeysByName) {
  EXPECT_THAT(problems_of(with("client: { <<: { head: 1s } }")),
              ElementsAre(HasSubstr("merge keys (`<<`) are not supported")));
}

TEST(Problems, RefusesOctalAndQuotedBooleans) {
  EXPECT_THAT(problems_of(with("workers: 010")), ElementsAre(HasSubstr("never octal")));
  EXPECT_THAT(problems_of(with("merge_slashes: \"on\"")),
              ElementsAre("3:16 error `merge_slashes`: expected true or false, unquoted"));
  EXPECT_THAT(problems_of(with("merge_slashes: True")), ElementsAre(HasSubstr("expected true or false")));
}

TEST(Problems, NamesTheBounds) {
  EXPECT_THAT(problems_of(with("workers: 0")), ElementsAre("3:10 error `workers`: must be from 1 to 1024"));
  EXPECT_THAT(problems_of(with("client: { head: 2d }")), ElementsAre(HasSubstr("must be from 1ms to 1d")));
  EXPECT_THAT(problems_of(with_backend("    servers: [ajp://127.0.0.1]\n    packet_size: 4KiB")),
              ElementsAre(HasSubstr("must be from 8KiB to 64KiB")));
  EXPECT_THAT(problems_of(with_backend("    servers: [http://a]\n    retry: { attempts: 4, budget: 101% }")),
              ElementsAre(HasSubstr("must be from 1 to 3"), HasSubstr("must be from 0% to 100%")));
  EXPECT_THAT(problems_of(with("limits: { body: -1B }")), ElementsAre(HasSubstr("whole number with a unit")));
}

TEST(Problems, SuggestsWords) {
  EXPECT_THAT(problems_of(with_route("respond: x\n    nul: refus")), ElementsAre(HasSubstr("did you mean `refuse`?")));
  EXPECT_THAT(problems_of(with_route("redirect: { location: /, status: 300 }")),
              ElementsAre(HasSubstr("`301`, `302`, `303`, `307`, `308`")));
}

TEST(Problems, RefusesTheWrongKindOfNode) {
  EXPECT_THAT(problems_of(with("client: 3")), ElementsAre("3:9 error `client`: expected a map of keys"));
  EXPECT_THAT(problems_of(with("workers: [1]")), ElementsAre("3:1 error `workers`: expected a whole number"));
  EXPECT_THAT(problems_of(with("backends: [a]")), ElementsAre(HasSubstr("expected a map: a name")));
  EXPECT_THAT(problems_of(with("backends: { app: http://a }")), ElementsAre(HasSubstr("`app` needs a map of keys")));
  EXPECT_THAT(problems_of("listeners: {}\nroutes: {}\n"), Contains(HasSubstr("expected a list")).Times(2));
  EXPECT_THAT(problems_of("just text"), ElementsAre(HasSubstr("a configuration is a map of keys"), testing::_));
  EXPECT_THAT(problems_of(with("client:")), ElementsAre("3:1 error `client` has no value; expected a map of keys"));
  EXPECT_THAT(problems_of(with("[a]: 1")), ElementsAre("3:1 error a key is a single word"));
}

TEST(Problems, RefusesTags) {
  EXPECT_THAT(problems_of(with("workers: !!int 3")), ElementsAre(HasSubstr("tags are not used")));
}

TEST(Problems, WantsExactlyOneAction) {
  EXPECT_THAT(problems_of(with_route("path: /x")),
              ElementsAre(StartsWith("3:5 error this route does nothing: it needs one of `files`")));
  EXPECT_THAT(problems_of(with_route("redirect: /x\n    respond: x")), ElementsAre(HasSubstr("more than one action")));
}

TEST(Problems, NamesMissingParts) {
  EXPECT_THAT(problems_of(with_route("files: {}")), ElementsAre(HasSubstr("`root` is missing in `routes.files`")));
  EXPECT_THAT(problems_of(with_backend("    servers: [{ name: a }]")),
              ElementsAre(HasSubstr("`url` is missing in `backends.servers`")));
  EXPECT_THAT(problems_of(with_backend("    queue: { length: 1 }")),
              ElementsAre("4:3 error `servers` is missing in `backends`"));
}

TEST(Problems, RefusesBadMatchers) {
  const auto one = [](std::string_view key) { return problems_of(with_route(std::string(key) + "\n    respond: x")); };
  EXPECT_THAT(one("path: x"), ElementsAre(HasSubstr("starts with `/`")));
  EXPECT_THAT(one("path: /a*"), ElementsAre(HasSubstr("as in /x/*")));
  EXPECT_THAT(one("path: /*/b"), ElementsAre(HasSubstr("as in /x/*")));
  EXPECT_THAT(one("path: /a?b"), ElementsAre(HasSubstr("no query")));
  EXPECT_THAT(one("path: /a;b"), ElementsAre(HasSubstr("path parameters")));
  EXPECT_THAT(one("path: []"), ElementsAre(HasSubstr("empty list")));
  EXPECT_THAT(one("path: /a\n    match: { path: /b }"), ElementsAre(HasSubstr("matched on already")));
  EXPECT_THAT(one("host: example.org:80"), ElementsAre(HasSubstr("no port")));
  EXPECT_THAT(one("host: http://example.org"), ElementsAre(HasSubstr("no scheme")));
  EXPECT_THAT(one("host: a.*.org"), ElementsAre(HasSubstr("whole labels at the front")));
  EXPECT_THAT(one("method: get"), ElementsAre(HasSubstr("case-sensitive")));
  EXPECT_THAT(one("match: { header: { \"a b\": x } }"), ElementsAre(HasSubstr("no field name")));
}

TEST(Problems, RefusesHeaderEditsThatBreakMessages) {
  const auto edit = [](std::string_view what) {
    return problems_of(with_route("respond: x\n    response_headers: " + std::string(what)));
  };
  for (const auto* name : {"Content-Length", "transfer-encoding", "Connection", "Keep-Alive", "TE", "Upgrade"}) {
    EXPECT_THAT(edit("{ set: { " + std::string(name) + ": x } }"),
                ElementsAre(HasSubstr("the gateway alone writes it")))
        << name;
    EXPECT_THAT(edit("{ remove: [" + std::string(name) + "] }"), ElementsAre(HasSubstr("the gateway alone writes it")))
        << name;
  }
  EXPECT_THAT(edit("{ set: { X: \"a\\r\\nY: b\" } }"), ElementsAre(HasSubstr("line end")));
  EXPECT_THAT(edit("{ add: { \"X Y\": a } }"), ElementsAre(HasSubstr("no field name")));
}

TEST(Problems, RefusesLocationsThatLeaveTheSiteByStealth) {
  for (const auto* text : {"//evil.example/", "/\\\\evil.example", "evil", "\"/a\\r\\nX: y\"", "/a b"}) {
    const auto quoted = text[0] == '"' ? std::string(text) : "\"" + std::string(text) + "\"";
    EXPECT_THAT(problems_of(with_route("redirect: " + quoted)), ElementsAre(HasSubstr("`location`:"))) << text;
  }
}

TEST(Problems, ExplainsUnsetVariables) {
  ::unsetenv("PONTAGE_TEST_NONE");
  EXPECT_THAT(problems_of(with("user: ${PONTAGE_TEST_NONE}")),
              ElementsAre("3:7 error `user`: the environment variable `PONTAGE_TEST_NONE` is not set"));
}

TEST(Problems, StopsAfterAHundred) {
  std::string many;
  for (int i = 0; i < 300; ++i) many += "zzzzzzzzzz" + std::to_string(i) + ": 1\n";
  const auto problems = problems_of(with(many));
  ASSERT_EQ(problems.size(), 101U);
  EXPECT_THAT(problems.back(), HasSubstr("200 more problems"));
}

TEST(Problems, SurvivesAliasBombsAndLoops) {
  std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c < 'j'; ++c) {
    const std::string before(1, static_cast<char>(c - 1));
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 10; ++i) bomb += (i == 0 ? "*" : ",*") + before;
    bomb += "]\n";
  }
  EXPECT_THAT(problems_of(with(bomb + "client: *i")), Not(IsEmpty()));
  EXPECT_THAT(problems_of(with("trusted_proxies: &p [*p]")), Not(IsEmpty()));
  EXPECT_THAT(problems_of(with("client: &c { client: *c }")), Not(IsEmpty()));
}

TEST(Problems, CountsVisitedNodes) {
  std::string list;
  for (int i = 0; i < 400; ++i) list += "\"/x\",";
  std::string routes = "listeners: [\":0\"]\nroutes:\n  - { path: &p [" + list + "], respond: x }\n";
  for (int i = 0; i < 400; ++i) routes += "  - { path: *p, respond: x }\n";
  EXPECT_THAT(problems_of(routes), Contains(HasSubstr("too many values")));
}

}  // namespace
}  // namespace pontage::config
