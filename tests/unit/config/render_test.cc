// How problems look, what YAML's own complaints become, and that secrets stay out of both.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/config/secrets.h"
#include "tests/unit/config/load_helper.h"

namespace pontage::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Render, PutsACaretUnderTheCulprit) {
  EXPECT_EQ(render(load_text("conf.yaml", with("client: { hed: 10s }"))),
            "conf.yaml:3:11: error: unknown key `hed`; did you mean `head`?\n"
            "  client: { hed: 10s }\n"
            "            ^\n");
}

TEST(Render, CountsCharactersNotBytes) {
  EXPECT_THAT(render(load_text("c", with("client: { \"é\": hed, hed: 1 }"))),
              HasSubstr("  client: { \"é\": hed, hed: 1 }\n                      ^\n"));
}

TEST(Render, ShowsPartOfALongLine) {
  const auto text = render(load_text(
      "c", with("client: { head: 10s, " + std::string(500, ' ') + "hed: 1s, " + std::string(500, ' ') + "}")));
  EXPECT_THAT(text, HasSubstr("..."));
  EXPECT_LT(text.size(), 500U);
}

TEST(Render, NamesTheFileAloneWithoutAPosition) {
  EXPECT_THAT(render(load_file("/nonexistent")), StartsWith("/nonexistent: error: cannot read"));
}

TEST(Syntax, TellsToQuoteVariablesInBraces) {
  EXPECT_THAT(
      problems_of("a: 1\nb: { c: ${X}, d: 1 }\n"),
      ElementsAre("2:9 error an unquoted `${...}` inside { } or [ ] ends them at its `}`: quote it, \"${NAME}\""));
  EXPECT_THAT(problems_of("b: [ ${X} ]\n"), ElementsAre(HasSubstr("quote it, \"${NAME}\"")));
}

TEST(Syntax, TellsToQuoteStars) {
  EXPECT_THAT(problems_of("host: *.example.org\n"), ElementsAre(HasSubstr("quote the value, as in \"*.example.org\"")));
}

TEST(Syntax, ExplainsTabsBracesAndIndentation) {
  EXPECT_THAT(problems_of("a:\n\tb: 1\n"), ElementsAre(HasSubstr("does not indent with tabs")));
  EXPECT_THAT(problems_of("a: [1,2\n"), ElementsAre(HasSubstr("a `[` before this has no `]`")));
  EXPECT_THAT(problems_of("a: {b: 1\nc: 2\n"), ElementsAre(HasSubstr("a `{` before this has no `}`")));
  EXPECT_THAT(problems_of("a: b: c\n"), ElementsAre(HasSubstr("quote the value")));
  EXPECT_THAT(problems_of("a:\n  - b\n c: 1\n"), ElementsAre(StartsWith("3:2 error this line is indented")));
  EXPECT_THAT(problems_of("a: @x\n"), ElementsAre(HasSubstr("no value begins with this character")));
}

TEST(Syntax, RefusesSeveralDocumentsAndEmptyFiles) {
  EXPECT_THAT(problems_of(with("---\na: 1")), ElementsAre(StartsWith("4:1 error a second YAML document")));
  EXPECT_THAT(problems_of(""), ElementsAre(HasSubstr("the file is empty")));
  EXPECT_THAT(problems_of("# nothing\n"), ElementsAre(HasSubstr("the file is empty")));
}

TEST(Syntax, RefusesBytesThatAreNoText) {
  EXPECT_THAT(problems_of(std::string("a: x\0y", 6)), ElementsAre(StartsWith("1:5 error a control character")));
  EXPECT_THAT(problems_of("a: \xff\xfe\n"), ElementsAre("1:4 error this byte is not UTF-8"));
  EXPECT_THAT(problems_of("a: \xc0\xaf\n"), ElementsAre(HasSubstr("not UTF-8")));
  EXPECT_THAT(problems_of("a: \xed\xa0\x80\n"), ElementsAre(HasSubstr("not UTF-8")));
  EXPECT_THAT(problems_of(std::string(2 << 20, ' ')), ElementsAre(HasSubstr("at most 1MiB")));
}

TEST(Syntax, SurvivesDeepNesting) {
  EXPECT_THAT(problems_of("a: " + std::string(5000, '[')), ElementsAre(HasSubstr("nested too deep")));
}

TEST(Secrets, NeverShowInMessages) {
  ::setenv("PONTAGE_TEST_SECRET", "hunter2", 1);
  for (const auto* keys : {
           "    servers: [ajp://10.0.0.1]\n    secret: [hunter2]",
           "    servrs: []\n    secret: hunter2",
           "    sekret: hunter2",
           "    servers: [http://a], secret: hunter2",
           "    secret:\n      hunter2\n    servers: x",
           "    secret: |\n      hunter2\n    zecret: \"hunter2\"",
           "    password: hunter2",
           "    secret: &x hunter2\n    packet_size: *x",
           "    packet_size: \"${PONTAGE_TEST_SECRET}\"",
           "    servers: [\"http://${PONTAGE_TEST_SECRET}@a\"]",
           "    \"secret\" : {hunter2: hunter2}",
       }) {
    const auto text = render(load_text("t.yaml", with_backend(keys)));
    EXPECT_THAT(text, HasSubstr("error")) << keys;
    EXPECT_THAT(text, Not(HasSubstr("hunter2"))) << keys;
  }
  const auto flow = render(
      load_text("t.yaml", "listeners: [\":0\"]\nbackends: { app: { secret: hunter2, servrs: [] } }\nroutes: []"));
  EXPECT_THAT(flow, Not(HasSubstr("hunter2")));
  const auto syntax = render(load_text("t.yaml", "backends: { app: { secret: hunter2, servers: [ } }"));
  EXPECT_THAT(syntax, Not(HasSubstr("hunter2")));
}

TEST(Secrets, MaskingMovesNothing) {
  const std::string text = "a:\n  secret: x y\n    z\n  other: 1\nsecret_file: /x\n";
  EXPECT_EQ(mask_secrets(text, {}), "a:\n  secret: * *\n    *\n  other: 1\nsecret_file: /x\n");
  EXPECT_EQ(mask_secrets("k: v\nl: w", {{1, 4}}), "k: *\nl: w");
  EXPECT_EQ(mask_secrets("", {{9, 9}}), "");
}

}  // namespace
}  // namespace pontage::config
