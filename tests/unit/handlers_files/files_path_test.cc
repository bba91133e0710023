// Names: how paths become names, and that none of them reaches what is hidden or outside (CASES S10, S11, P16).
#include "src/handlers/files_path.h"

#include <gtest/gtest.h>

#include "src/handlers/mime.h"
#include "tests/unit/handlers_files/site.h"

namespace pontage::handlers {
namespace {

TEST(FilesPath, DecodesNamesOnce) {
  Site site;
  for (const auto* name : {"100%.txt", "a b", "x {y}.txt", "\u00e5\u00e4\u00f6.txt", "semi;colon", "%41"}) {
    site.tree.write(std::string("root/") + name, name);
  }
  EXPECT_EQ(site.get("/100%25.txt").body, "100%.txt");
  EXPECT_EQ(site.get("/a%20b").body, "a b");
  EXPECT_EQ(site.get("/x%20%7By%7D.txt").body, "x {y}.txt");
  EXPECT_EQ(site.get("/%C3%A5%c3%a4%C3%B6.txt").body, "\u00e5\u00e4\u00f6.txt");
  EXPECT_EQ(site.get("/semi%3Bcolon").body, "semi;colon");
  EXPECT_EQ(site.get("/%2541").body, "%41");
}

TEST(FilesPath, IgnoresPathParameters) {
  Site site;
  site.tree.write("root/dir/a.txt", "hello");
  EXPECT_EQ(site.get("/dir;x=1/a.txt;jsessionid=7").body, "hello");
}

TEST(FilesPath, NeverLeavesTheRoot) {
  Site site(config::FilesAction::Symlinks::follow);
  site.tree.write("secret", "outside");
  site.tree.write("root/a/b", "inside");
  for (const auto* target :
       {"/../secret", "/%2e%2e/secret", "/a/../../secret", "/a/..;x/..;y/secret", "/a/%2E%2E/%2e./secret",
        "/..%5csecret", "/a/..%2f..%2fsecret", "/..%2fsecret", "/%2e%2e%2fsecret", "/a/b/../../../secret"}) {
    EXPECT_NE(site.get(target).body, "outside") << target;
  }
  // As a route that allows %2F would hand them on.
  for (const auto& forward : std::vector<std::string>{
           "/..%2Fsecret", "/a%2F..%2F..%2Fsecret", "/%2F" + site.tree.at("secret"), "//" + site.tree.at("secret"),
           "/../secret", "../secret", "..", "/..;/secret", "/a/..", "/%2E%2E/secret", site.tree.at("secret")}) {
    const Answer answer = site.ask({.target = "/x", .forward = forward});
    EXPECT_EQ(answer.status, 404) << forward;
  }
}

TEST(FilesPath, RefusesNul) {
  Site site;
  site.tree.write("root/a.txt", "x");
  const Answer answer = site.ask({.target = "/x", .forward = "/a.txt%00.html"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.error.kind, util::ErrorKind::protocol);
  EXPECT_EQ(answer.error.source, util::Source::client);
}

TEST(FilesPath, HidesDotFiles) {
  Site site;
  for (const auto* name :
       {".env", ".git/config", "dir/.htaccess", ".well-known/security.txt", ".well-known/.env", "dir/.well-known/x"}) {
    site.tree.write(std::string("root/") + name, name);
  }
  EXPECT_EQ(site.get("/.env").status, 404);
  EXPECT_EQ(site.get("/%2Eenv").status, 404);
  EXPECT_EQ(site.get("/.git/config").status, 404);
  EXPECT_EQ(site.get("/.git").status, 404);
  EXPECT_EQ(site.get("/dir/.htaccess").status, 404);
  EXPECT_EQ(site.get("/dir/.well-known/x").status, 404);
  EXPECT_EQ(site.get("/.well-known/.env").status, 404);
  EXPECT_EQ(site.get("/.well-known/security.txt").status, 200);
}

TEST(FilesPath, FollowsLinksAsTold) {
  using Symlinks = config::FilesAction::Symlinks;
  for (const Symlinks links : {Symlinks::beneath, Symlinks::follow, Symlinks::none}) {
    Site site(links);
    site.tree.write("outside", "outside");
    site.tree.write("root/dir/a", "inside");
    site.tree.link("root/in", "dir/a");
    site.tree.link("root/out", "../outside");
    site.tree.link("root/loop", "loop");
    site.tree.link("root/dangling", "nowhere");
    EXPECT_EQ(site.get("/in").status, links == Symlinks::none ? 404 : 200);
    EXPECT_EQ(site.get("/out").status, links == Symlinks::follow ? 200 : 404);
    EXPECT_EQ(site.get("/loop").status, 404);
    EXPECT_EQ(site.get("/dangling").status, 404);
  }
}

TEST(FilesPath, NamesThatAreTooLongAreNotThere) {
  Site site;
  EXPECT_EQ(site.get("/" + std::string(300, 'n')).status, 404);
  std::string deep;
  for (int i = 0; i < 3000; ++i) deep += "/d";
  EXPECT_EQ(site.get(deep).status, 404);
}

TEST(FilesPath, LocationNeverNamesAnotherHost) {
  message::Arena arena;
  message::Target target;
  for (const auto* path :
       {"//evil.example", "/\\evil.example", "///evil.example", "/\\/evil.example", "\\\\evil.example"}) {
    EXPECT_EQ(directory_location(path, target, arena), "/evil.example/") << path;
  }
  EXPECT_EQ(directory_location("/", target, arena), "/");
  target.has_query = true;
  EXPECT_EQ(directory_location("/a", target, arena), "/a/?");
  target.query = "x=//y";
  EXPECT_EQ(directory_location("/a", target, arena), "/a/?x=//y");
}

TEST(Mime, KnowsWhatSitesAreMadeOf) {
  const MimeTypes types("/nonexistent");
  EXPECT_EQ(types.find("a.html"), "text/html; charset=utf-8");
  EXPECT_EQ(types.find("dir/A.JS"), "text/javascript; charset=utf-8");
  EXPECT_EQ(types.find("a.min.css"), "text/css; charset=utf-8");
  EXPECT_EQ(types.find("a.png"), "image/png");
  EXPECT_EQ(types.find("a.json"), "application/json");
  EXPECT_EQ(types.find("x.unknown"), "");
  EXPECT_EQ(types.find("Makefile"), "");
  EXPECT_EQ(types.find("dir.html/file"), "");
  EXPECT_EQ(types.find(""), "");
  EXPECT_EQ(types.find("a."), "");
}

TEST(Mime, AddsTheSystemsTypes) {
  testing::TempTree tree;
  tree.write("mime.types",
             "# comment\ntext/x-new  new newer # rest\n\nnonsense\nx/y;z bad\nimage/other png\napplication/q\tq1\r\n");
  const MimeTypes types(tree.at("mime.types"));
  EXPECT_EQ(types.find("a.NEWER"), "text/x-new; charset=utf-8");
  EXPECT_EQ(types.find("a.q1"), "application/q");
  EXPECT_EQ(types.find("a.png"), "image/png") << "our own table wins";
  EXPECT_EQ(types.find("a.rest"), "");
}

}  // namespace
}  // namespace pontage::handlers
