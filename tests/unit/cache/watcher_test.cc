// Changes of real files are seen by their events, whatever way they are made.
#include <string>

#include "tests/unit/cache/watched_tree.h"

namespace pontage::cache {
namespace {

using Watch = WatchedTree;

TEST_F(Watch, SeesAFileReplacedByRename) {
  load("a/b/f");
  load("a/b/other");
  EXPECT_TRUE(stays("a/b/f"));
  tree.replace("root/a/b/f", "new");
  EXPECT_TRUE(sees_change("a/b/f"));
  EXPECT_TRUE(stays("a/b/other"));
  load("a/b/f");
  EXPECT_TRUE(stays("a/b/f"));
  tree.replace("root/a/b/f", "newer");
  EXPECT_TRUE(sees_change("a/b/f"));
}

TEST_F(Watch, SeesAFileWrittenInPlace) {
  load("a/b/f");
  std::fstream(tree.at("root/a/b/f")) << "OLD";
  EXPECT_TRUE(sees_change("a/b/f"));
}

TEST_F(Watch, SeesAFileAppendedTo) {
  load("top");
  std::ofstream(tree.at("root/top"), std::ios::app) << "more";
  EXPECT_TRUE(sees_change("top"));
}

TEST_F(Watch, SeesAFileTruncated) {
  load("top");
  ASSERT_EQ(::truncate(tree.at("root/top").c_str(), 1), 0);
  EXPECT_TRUE(sees_change("top"));
}

TEST_F(Watch, SeesAFileDeleted) {
  load("a/b/f");
  tree.remove("root/a/b/f");
  EXPECT_TRUE(sees_change("a/b/f"));
}

TEST_F(Watch, SeesItsPermissionsChange) {
  load("a/b/f");
  ASSERT_EQ(::chmod(tree.at("root/a/b/f").c_str(), 0600), 0);
  EXPECT_TRUE(sees_change("a/b/f"));
}

TEST_F(Watch, SeesTheDirectorysPermissionsChange) {
  load("a/b/f");
  load("top");
  ASSERT_EQ(::chmod(tree.at("root/a").c_str(), 0700), 0);
  EXPECT_TRUE(sees_change("a/b/f"));
  EXPECT_TRUE(stays("top"));
  ASSERT_EQ(::chmod(tree.at("root").c_str(), 0700), 0);
  EXPECT_TRUE(sees_change("top"));
}

TEST_F(Watch, SeesTheModificationTimeSetBack) {
  load("a/b/f");
  tree.set_mtime("root/a/b/f", 1'000'000'000);
  EXPECT_TRUE(sees_change("a/b/f"));
}

TEST_F(Watch, SeesAFileAppearThatWasMissing) {
  load("a/b/none");
  EXPECT_TRUE(stays("a/b/none"));
  tree.write("root/a/b/none", "here");
  EXPECT_TRUE(sees_change("a/b/none"));
}

TEST_F(Watch, SeesAFileAppearWithAllItsDirectories) {
  load("new/and/deep");
  EXPECT_TRUE(stays("new/and/deep"));
  tree.write("stage/and/deep", "here");
  fs::rename(tree.at("stage"), tree.at("root/new"));
  EXPECT_TRUE(sees_change("new/and/deep"));
  load("new/and/deep");
  std::ofstream(tree.at("root/new/and/deep"), std::ios::app) << "more";
  EXPECT_TRUE(sees_change("new/and/deep"));
}

TEST_F(Watch, ExpiresVariantsWithTheirFile) {
  const std::string_view encoded("a/b/f\0gzip", 10);
  load("a/b/f");
  load(encoded);
  tree.replace("root/a/b/f", "new");
  EXPECT_TRUE(sees_change(encoded));
}

TEST_F(Watch, ExpiresTheDirectoryOfWhatChanged) {
  load("a/b");
  load("a");
  load("a/b/f");
  tree.write("root/a/b/new", "x");
  EXPECT_TRUE(sees_change("a/b"));
  EXPECT_TRUE(stays("a"));
}

TEST_F(Watch, SeesADirectoryAboveRenamed) {
  tree.write("next/b/f", "next");
  load("a/b/f");
  load("top");
  fs::rename(tree.at("root/a"), tree.at("root/past"));
  EXPECT_TRUE(sees_change("a/b/f"));
  EXPECT_TRUE(stays("top"));
  load("a/b/f");  // missing now
  fs::rename(tree.at("next"), tree.at("root/a"));
  EXPECT_TRUE(sees_change("a/b/f"));
  load("a/b/f");
  tree.replace("root/past/b/f", "of no concern");
  EXPECT_TRUE(stays("a/b/f"));
  tree.replace("root/a/b/f", "newer");
  EXPECT_TRUE(sees_change("a/b/f"));
}

TEST_F(Watch, SeesADirectoryDeletedAndMadeAgain) {
  load("a/b/f");
  tree.remove("root/a");
  EXPECT_TRUE(sees_change("a/b/f"));
  tree.write("root/a/b/f", "again");
  watcher.drain(files);
  load("a/b/f");
  EXPECT_TRUE(stays("a/b/f"));
  tree.replace("root/a/b/f", "newer");
  EXPECT_TRUE(sees_change("a/b/f"));
}

TEST_F(Watch, SeesTheCurrentLinkSwitched) {
  tree.write("releases/1/public/f", "one");
  tree.write("releases/2/public/f", "two");
  tree.link("current", "releases/1");
  const FileRoot site = root_at(8, tree.at("current/public"));
  load(site, "f");
  load("top");
  EXPECT_TRUE(stays("f", 8));
  tree.link("next", "releases/2");
  fs::rename(tree.at("next"), tree.at("current"));
  EXPECT_TRUE(sees_change("f", 8));
  EXPECT_TRUE(stays("top")) << "another root";
  load(site, "f");
  tree.replace("releases/1/public/f", "of no concern");
  EXPECT_TRUE(stays("f", 8));
  tree.replace("releases/2/public/f", "newer");
  EXPECT_TRUE(sees_change("f", 8));
  load(site, "f");
  fs::rename(tree.at("releases/2"), tree.at("releases/3"));
  EXPECT_TRUE(sees_change("f", 8)) << "what the link leads to";
}

TEST_F(Watch, SeesTheRootItselfReplacedAndAppear) {
  load("top");
  fs::rename(tree.at("root"), tree.at("past"));
  EXPECT_TRUE(sees_change("top"));
  load("top");
  EXPECT_TRUE(stays("top"));
  fs::rename(tree.at("past"), tree.at("root"));
  EXPECT_TRUE(sees_change("top"));
  load("top");
  tree.replace("root/top", "new");
  EXPECT_TRUE(sees_change("top"));
}

TEST_F(Watch, SeesThroughLinksToDirectories) {
  tree.link("root/link", "a/b");
  load("link/f");
  load("a/b/f");
  tree.replace("root/a/b/f", "new");
  EXPECT_TRUE(sees_change("link/f"));
  EXPECT_TRUE(sees_change("a/b/f"));
  load("link/f");
  fs::rename(tree.at("root/a"), tree.at("root/past"));
  EXPECT_TRUE(sees_change("link/f")) << "a directory above the one it leads to";
  fs::rename(tree.at("root/past"), tree.at("root/a"));
  watcher.drain(files);
  load("link/f");
  EXPECT_TRUE(stays("link/f"));
  tree.write("root/c/f", "elsewhere");
  tree.link("root/next", "c");
  fs::rename(tree.at("root/next"), tree.at("root/link"));
  EXPECT_TRUE(sees_change("link/f"));
}

TEST_F(Watch, LinksInCirclesEndAtTheLimit) {
  tree.link("root/a/up", "..");
  std::string path = "top";
  for (int i = 0; i < 30; ++i) path.insert(0, "a/up/");
  load(path);
  EXPECT_LE(watcher.counts().watched, 61U);
  tree.replace("root/top", "new");
  EXPECT_TRUE(sees_change(path));
}

TEST_F(Watch, RootsOfTheSameDirectoryAreToldApart) {
  const FileRoot twin = root_at(8, tree.at("root"));
  load("top");
  load(twin, "top");
  tree.replace("root/top", "new");
  EXPECT_TRUE(sees_change("top"));
  EXPECT_TRUE(sees_change("top", 8));
  load("top");
  load(twin, "top");
  watcher.forget(8);
  tree.replace("root/top", "newer");
  EXPECT_TRUE(sees_change("top"));
  EXPECT_TRUE(stays("top", 8)) << "nobody watches it any more";
}

TEST_F(Watch, AForgottenRootLeavesNoWatch) {
  load("a/b/f");
  EXPECT_EQ(watcher.counts().watched, 3U);
  watcher.forget(7);
  EXPECT_EQ(watcher.counts().watched, 0U);
  watcher.drain(files);
  tree.replace("root/a/b/f", "new");
  pollfd readable{watcher.descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&readable, 1, 0), 0);
}

}  // namespace
}  // namespace pontage::cache
