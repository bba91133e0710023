// What shows only when the whole file is known.
#include "src/config/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/load_helper.h"

namespace pontage::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Check, FindsMisspeltBackends) {
  EXPECT_THAT(problems_of("listeners: [\":0\"]\nbackends: { app: { servers: [http://a] } }\nroutes: [{ proxy: ap }]\n"),
              ElementsAre(HasSubstr("warning no route uses the backend `app`"),
                          "3:19 error there is no backend `ap`; did you mean `app`?"));
}

TEST(Check, WantsListenersAndServers) {
  EXPECT_THAT(problems_of("listeners: []\nroutes: [{ respond: x }]"),
              ElementsAre("1:1 error at least one listener is needed, such as `listeners: [\":8080\"]`"));
  EXPECT_THAT(problems_of(with_backend("    servers: []")), ElementsAre("5:5 error the backend `app` has no servers"));
}

TEST(Check, RefusesOneAddressTwice) {
  EXPECT_THAT(problems_of("listeners: [\":80\", { bind: \":80\" }]\nroutes: [{ respond: x }]"),
              ElementsAre(HasSubstr("`:80` is listened on twice")));
  EXPECT_THAT(problems_of("listeners: [\":0\", \":0\"]\nroutes: [{ respond: x }]"), IsEmpty());
  EXPECT_THAT(problems_of(with("admin: \":8080\"")), ElementsAre(HasSubstr("is a listener's, too")));
}

TEST(Check, RefusesServersOfOneName) {
  EXPECT_THAT(problems_of(with_backend("    servers: [{ url: http://a, name: x }, { url: http://b, name: x }]")),
              ElementsAre("5:66 error two servers of `app` are called `x`"));
  EXPECT_THAT(problems_of(with_backend("    servers: [http://a, http://a:80]")),
              ElementsAre(HasSubstr("are called `a:80`")));
}

TEST(Check, WarnsOfStickyServersWithoutName) {
  EXPECT_THAT(problems_of(with_backend("    servers: [http://a]\n    sticky: SID")),
              ElementsAre(HasSubstr("5:15 warning with `sticky` this server needs a `name`")));
}

TEST(Check, WarnsOfOpenAjp) {
  EXPECT_THAT(problems_of(with_backend("    servers: [ajp://10.0.0.1]")),
              ElementsAre(HasSubstr("warning AJP leaves this machine without a `secret`")));
  EXPECT_THAT(problems_of(with_backend("    servers: [ajp://127.0.0.1]")), IsEmpty());
  EXPECT_THAT(problems_of(with_backend("    servers: [ajp://10.0.0.1]\n    secret: hunter2")), IsEmpty());
}

TEST(Check, WarnsWhenNoServerTakesSessions) {
  EXPECT_THAT(problems_of(with_backend("    servers: [{ url: http://a, weight: 0 }]")),
              ElementsAre(HasSubstr("weight 0")));
}

TEST(Check, RefusesTwoSecrets) {
  EXPECT_THAT(problems_of(with_backend("    servers: [ajp://10.0.0.1]\n    secret: a\n    secret_file: /dev/null")),
              ElementsAre(HasSubstr("its first line is empty"), HasSubstr("exclude each other")));
}

TEST(Check, WarnsOfMissingFolders) {
  EXPECT_THAT(problems_of(with_route("files: /nonexistent")),
              ElementsAre("3:12 warning the folder `/nonexistent` cannot be found: No such file or directory"));
  EXPECT_THAT(problems_of(with_route("files: /dev/null")), ElementsAre(HasSubstr("is no folder")));
}

TEST(Check, WarnsOfRoutesThatNothingReaches) {
  EXPECT_THAT(problems_of("listeners: [\":0\"]\nroutes:\n  - respond: x\n  - { path: /a, respond: y }"),
              ElementsAre("4:5 warning no request reaches this route: the one in line 3 takes them all"));
}

TEST(Check, WarnsOfFilesWithoutRoutes) {
  EXPECT_THAT(problems_of("listeners: [\":0\"]"), ElementsAre(HasSubstr("warning there are no routes")));
}

TEST(Check, RefusesBodiesThatCannotBeSent) {
  EXPECT_THAT(problems_of(with_route("respond: 404")), ElementsAre(HasSubstr("write `respond: { status: 404 }`")));
  EXPECT_THAT(problems_of(with_route("respond: { status: 204, body: x }")),
              ElementsAre(HasSubstr("a 204 response has no body")));
  EXPECT_THAT(problems_of(with_route("respond: { status: 404, body: \"404\" }")), IsEmpty());
}

TEST(Check, RegexAndReplacementNeedEachOther) {
  EXPECT_THAT(problems_of(with_route("rewrite: { regex: ^/a }\n    respond: x")),
              ElementsAre(HasSubstr("need each other")));
  EXPECT_THAT(problems_of(with_route("rewrite: { replacement: /a }\n    respond: x")),
              ElementsAre(HasSubstr("need each other")));
  EXPECT_THAT(problems_of(with_route("rewrite: { regex: ^/a, replacement: \"/b?c\" }\n    respond: x")),
              ElementsAre(HasSubstr("no `?`")));
}

TEST(Check, LogFormatNeedsAFile) {
  EXPECT_THAT(problems_of(with("access_log: { format: json }")), ElementsAre(HasSubstr("needs a `file`")));
}

TEST(Covers, ComparesHostsPathsAndMethods) {
  const auto match = [](std::vector<std::string> hosts, std::vector<std::string> paths) {
    Match out;
    out.hosts = std::move(hosts);
    out.paths = std::move(paths);
    return out;
  };
  EXPECT_TRUE(covers(match({}, {}), match({"a"}, {"/x"})));
  EXPECT_TRUE(covers(match({}, {"/x/*"}), match({}, {"/x"})));
  EXPECT_TRUE(covers(match({}, {"/x/*"}), match({}, {"/x/y/*", "/x/z"})));
  EXPECT_TRUE(covers(match({"*.a.org"}, {}), match({"b.a.org"}, {})));
  EXPECT_FALSE(covers(match({"*.a.org"}, {}), match({"a.org"}, {})));
  EXPECT_FALSE(covers(match({}, {"/x/*"}), match({}, {"/xy"})));
  EXPECT_FALSE(covers(match({}, {"/x/*"}), match({}, {"~/x/.*"})));
  EXPECT_FALSE(covers(match({}, {"/x/*"}), match({}, {})));
  Match with_header = match({}, {});
  with_header.headers.push_back({"X", std::nullopt});
  EXPECT_FALSE(covers(with_header, match({}, {"/x"})));
  EXPECT_TRUE(covers(match({}, {}), with_header));
}

}  // namespace
}  // namespace pontage::config
