// Which script a path names (ADAPTERS F16, P32, U2). Paths are canonical, as a request's is after decoding.
#include "src/upstream/script_path.h"

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace pontage::upstream {
namespace {

using config::CgiMapping;

struct Texts {
  std::string name;
  std::string info;  // empty: the variable is left out
  std::string filename;

  friend bool operator==(const Texts&, const Texts&) = default;
  friend std::ostream& operator<<(std::ostream& to, const Texts& texts) {
    return to << "name '" << texts.name << "' info '" << texts.info << "' filename '" << texts.filename << "'";
  }
};

struct Row {
  std::string path;
  Texts want;
};

const Texts kRefused{"refused", "refused", "refused"};

Texts found(std::string_view path, const CgiMapping& mapping) {
  message::Arena arena;
  const auto script = find_script(path, mapping, arena);
  if (!script) return kRefused;
  return {std::string(script->script_name), std::string(script->path_info), std::string(script->script_filename)};
}

void expect(const CgiMapping& mapping, const std::vector<Row>& rows) {
  for (const auto& row : rows) EXPECT_EQ(found(row.path, mapping), row.want) << row.path;
}

CgiMapping tree(std::string root = "/srv/www") {
  CgiMapping mapping;
  mapping.document_root = std::move(root);
  return mapping;
}

CgiMapping tree_of(std::vector<std::string> extensions) {
  CgiMapping mapping = tree("/w");
  mapping.extensions = std::move(extensions);
  return mapping;
}

CgiMapping one_script(std::string script, std::string root = {}, std::string name = {}) {
  CgiMapping mapping = tree(std::move(root));
  mapping.script = std::move(script);
  mapping.script_name = std::move(name);
  return mapping;
}

CgiMapping mounted(std::string name) {
  return one_script({}, {}, std::move(name));
}

TEST(ScriptPath, ScriptEndsBehindItsExtensionAtTheEndOrBeforeASlash) {
  expect(tree(), {{"/a.php", {"/a.php", "", "/srv/www/a.php"}},
                  {"/a.php/", {"/a.php", "/", "/srv/www/a.php"}},
                  {"/a.php/b", {"/a.php", "/b", "/srv/www/a.php"}},
                  {"/a.php/b/c/", {"/a.php", "/b/c/", "/srv/www/a.php"}},
                  {"/d/e.f/a.php/b", {"/d/e.f/a.php", "/b", "/srv/www/d/e.f/a.php"}},
                  {"/a.php.php/b", {"/a.php.php", "/b", "/srv/www/a.php.php"}}});
}

TEST(ScriptPath, FirstOfSeveralMatchesWins) {
  expect(tree(), {{"/a.php/b.php", {"/a.php", "/b.php", "/srv/www/a.php"}},
                  {"/a.php/b.php/c", {"/a.php", "/b.php/c", "/srv/www/a.php"}},
                  {"/a.php/.php", {"/a.php", "/.php", "/srv/www/a.php"}},
                  {"/a.phpx/b.php/c", {"/a.phpx/b.php", "/c", "/srv/www/a.phpx/b.php"}},
                  {"/.php/b.php/c", {"/.php/b.php", "/c", "/srv/www/.php/b.php"}}});
}

TEST(ScriptPath, NamesThatOnlyLookLikeScriptsAreNone) {
  for (const auto* path : {"/x.phpfoo", "/x.phpfoo/y", "/x.php.bak", "/x.php;v=1", "/x.PHP", "/x.Php/y", "/xphp",
                           "/php", "/.php", "/.php/x", "/d/.php", "/x.ph"}) {
    EXPECT_EQ(found(path, tree()), (Texts{"/index.php", "", "/srv/www/index.php"})) << path;
  }
}

TEST(ScriptPath, EscapesAreDecodedOnceBeforeTheScriptIsFound) {
  expect(tree(), {{"/a.php%2Fb", {"/a.php", "/b", "/srv/www/a.php"}},
                  {"/d%2Fa.php", {"/d/a.php", "", "/srv/www/d/a.php"}},
                  {"/d%2F", {"/d/index.php", "", "/srv/www/d/index.php"}},
                  {"/a.php/b%20c", {"/a.php", "/b c", "/srv/www/a.php"}},
                  {"/a%20b.php", {"/a b.php", "", "/srv/www/a b.php"}},
                  {"/a.php%3Fb/c.php/d", {"/a.php?b/c.php", "/d", "/srv/www/a.php?b/c.php"}},
                  {"/a.php/%3Fb%23c", {"/a.php", "/?b#c", "/srv/www/a.php"}},
                  {"/a.php/%252F%2541", {"/a.php", "/%2F%41", "/srv/www/a.php"}},
                  {"/a.php/%25", {"/a.php", "/%", "/srv/www/a.php"}},
                  {"/a.php%20", {"/index.php", "", "/srv/www/index.php"}}});
}

// Lower case of these letters has another length: compared that way, the script ended elsewhere (CVE-2026-27590).
TEST(ScriptPath, LettersBeyondAsciiDoNotMoveTheBorder) {
  const std::string dotted = "\xc4\xb0";      // U+0130, two bytes; three when lowered
  const std::string sharp = "\xe1\xba\x9e";   // U+1E9E, three bytes; two when lowered
  const std::string kelvin = "\xe2\x84\xaa";  // U+212A, three bytes; one when lowered
  expect(tree(),
         {{"/%C4%B0.php/%C4%B0.php", {"/" + dotted + ".php", "/" + dotted + ".php", "/srv/www/" + dotted + ".php"}},
          {"/%E1%BA%9E%E1%BA%9E.php/b", {"/" + sharp + sharp + ".php", "/b", "/srv/www/" + sharp + sharp + ".php"}},
          {"/%E2%84%AA/a.php", {"/" + kelvin + "/a.php", "", "/srv/www/" + kelvin + "/a.php"}},
          {"/a.ph%C6%A5/b", {"/index.php", "", "/srv/www/index.php"}},
          {"/%FF.php/%FE", {"/\xff.php", "/\xfe", "/srv/www/\xff.php"}}});
  for (const auto* letters : {"%C4%B0", "%E1%BA%9E", "%C4%B0%E1%BA%9E%C4%B0", "%E2%84%AA%C4%B0"}) {
    message::Arena arena;
    const std::string path = "/" + std::string(letters) + ".php/info.php";
    const CgiMapping mapping = tree();
    const auto script = find_script(path, mapping, arena);
    ASSERT_TRUE(script);
    EXPECT_EQ(script->script_name.size(), 1 + std::string_view(letters).size() / 3 + 4) << letters;
    EXPECT_EQ(script->path_info, "/info.php") << letters;
  }
}

// CVE-2019-11043 began with a line end that the search for PATH_INFO stopped at.
TEST(ScriptPath, EncodedLineEndsAndNulAreRefusedEverywhere) {
  const std::vector<CgiMapping> mappings{
      tree(), one_script("app.php", "/srv/www"), one_script("/srv/app.py"), mounted("/app"), {}};
  for (const auto* escape : {"%0A", "%0D", "%00"}) {
    for (const auto* path : {"/*", "/a*.php", "/a.php*", "/a.php/*", "/a.php/b*c", "/app*/x", "/*/"}) {
      std::string text = path;
      text.replace(text.find('*'), 1, escape);
      for (const auto& mapping : mappings) EXPECT_EQ(found(text, mapping), kRefused) << text;
    }
  }
  // Encoded twice they are text.
  expect(tree(), {{"/a.php/%250A", {"/a.php", "/%0A", "/srv/www/a.php"}}});
}

// Routes see one segment where a script's folder would be left: with `encoded_slash: allow` no other check is made.
TEST(ScriptPath, EncodedSlashesCannotHideDotSegments) {
  const std::vector<CgiMapping> mappings{tree(), one_script("/srv/app.py"), mounted("/app"), {}};
  for (const auto* path : {"/a%2F..%2F..%2Fetc%2Fx.php", "/..%2Fx.php", "/a/..%2Fx.php", "/a%2F../x.php", "/a%2F..",
                           "/.%2Fx.php", "/a%2F.", "/a.php%2F..%2Fb.php", "/app/x%2F..%2F..%2Fprivate"}) {
    for (const auto& mapping : mappings) EXPECT_EQ(found(path, mapping), kRefused) << path;
  }
  expect(tree(), {{"/a%2F..b.php", {"/a/..b.php", "", "/srv/www/a/..b.php"}},
                  {"/a%2F...%2Fb.php", {"/a/.../b.php", "", "/srv/www/a/.../b.php"}},
                  {"/a..%2Fb.php", {"/a../b.php", "", "/srv/www/a../b.php"}},
                  {"/.a%2Fb.php", {"/.a/b.php", "", "/srv/www/.a/b.php"}}});
}

TEST(ScriptPath, FoldersGetTheirIndexAndOtherPathsTheFrontController) {
  expect(tree(), {{"/", {"/index.php", "", "/srv/www/index.php"}},
                  {"/d/", {"/d/index.php", "", "/srv/www/d/index.php"}},
                  {"/d/e/", {"/d/e/index.php", "", "/srv/www/d/e/index.php"}},
                  {"/d", {"/index.php", "", "/srv/www/index.php"}},
                  {"/blog/2024", {"/index.php", "", "/srv/www/index.php"}},
                  {"/d/logo.png", {"/index.php", "", "/srv/www/index.php"}}});
  CgiMapping other = tree();
  other.index = "app.cgi";
  expect(other, {{"/", {"/app.cgi", "", "/srv/www/app.cgi"}},
                 {"/d/", {"/d/app.cgi", "", "/srv/www/d/app.cgi"}},
                 {"/d", {"/app.cgi", "", "/srv/www/app.cgi"}}});
}

TEST(ScriptPath, OfSeveralExtensionsTheOneThatComesFirstInThePathWins) {
  const auto forward = tree_of({".php", ".phtml", ".tar.php"});
  const auto backward = tree_of({".tar.php", ".phtml", ".php"});
  for (const auto& mapping : {forward, backward}) {
    expect(mapping, {{"/a.php/b.phtml", {"/a.php", "/b.phtml", "/w/a.php"}},
                     {"/a.phtml/b.php", {"/a.phtml", "/b.php", "/w/a.phtml"}},
                     {"/a.phtmlx/b.php/c.phtml", {"/a.phtmlx/b.php", "/c.phtml", "/w/a.phtmlx/b.php"}},
                     {"/a.tar.php/b", {"/a.tar.php", "/b", "/w/a.tar.php"}},
                     {"/.tar.php/b", {"/.tar.php", "/b", "/w/.tar.php"}},
                     {"/a.pl", {"/index.php", "", "/w/index.php"}}});
  }
  expect(tree_of({".cgi"}), {{"/a.php/b.cgi/c", {"/a.php/b.cgi", "/c", "/w/a.php/b.cgi"}}});
}

TEST(ScriptPath, OneAbsoluteScriptGetsEveryPathAsPathInfo) {
  expect(one_script("/srv/app.py"), {{"/", {"", "/", "/srv/app.py"}},
                                     {"/x.php/y", {"", "/x.php/y", "/srv/app.py"}},
                                     {"/a%20b", {"", "/a b", "/srv/app.py"}},
                                     {"//x//y", {"", "/x//y", "/srv/app.py"}}});
  expect(one_script("/srv/app.py", "/srv/www", "/run"), {{"/x", {"/run", "/x", "/srv/app.py"}}});
}

TEST(ScriptPath, OneRelativeScriptIsBelowTheDocumentRoot) {
  expect(one_script("sub/app.php", "/srv/www"), {{"/", {"/sub/app.php", "/", "/srv/www/sub/app.php"}},
                                                 {"/x.php/y", {"/sub/app.php", "/x.php/y", "/srv/www/sub/app.php"}},
                                                 {"///x", {"/sub/app.php", "/x", "/srv/www/sub/app.php"}}});
}

TEST(ScriptPath, AMountIsScriptNameOfItselfAndOfWhatIsBelow) {
  expect(mounted("/app"), {{"/app", {"/app", "", ""}},
                           {"/app/", {"/app", "/", ""}},
                           {"/app/x.php/y", {"/app", "/x.php/y", ""}},
                           {"/%61pp%2Fx", {"/app", "/x", ""}},
                           {"/app//x", {"/app", "/x", ""}},
                           {"/appx", {"", "/appx", ""}},
                           {"/appx/y", {"", "/appx/y", ""}},
                           {"/app.php", {"", "/app.php", ""}},
                           {"/APP/x", {"", "/APP/x", ""}},
                           {"/ap", {"", "/ap", ""}},
                           {"/x/app/y", {"", "/x/app/y", ""}},
                           {"/", {"", "/", ""}}});
  expect(mounted("/a/b"), {{"/a/b/c", {"/a/b", "/c", ""}}, {"/a/c", {"", "/a/c", ""}}});
}

TEST(ScriptPath, AnApplicationAtTheRootHasThePathAsPathInfoWithOneSlashInFront) {
  expect({}, {{"/", {"", "/", ""}},
              {"/x.php/y", {"", "/x.php/y", ""}},
              {"//x", {"", "/x", ""}},
              {"///x//y/", {"", "/x//y/", ""}},
              {"//", {"", "/", ""}},
              {"/%2Fx", {"", "/x", ""}},
              {"/%C4%B0%FF", {"", "/\xc4\xb0\xff", ""}}});
}

TEST(ScriptPath, APathWithoutEscapesIsNotCopied) {
  message::Arena arena;
  const std::string path = "/a.php/b";
  const CgiMapping mapping = tree();
  const auto script = find_script(path, mapping, arena);
  ASSERT_TRUE(script);
  EXPECT_EQ(script->script_name.data(), path.data());
  EXPECT_EQ(script->path_info.data(), path.data() + 6);
}

}  // namespace
}  // namespace pontage::upstream
