// Nothing outside of the root is ever reached: both ways of resolving keep the same promises (CASES S11).
#include "src/cache/safe_open.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/unit/cache/temp_tree.h"

namespace pontage::cache {
namespace {

class SafeOpen : public ::testing::TestWithParam<Resolver> {
 protected:
  SafeOpen() {
    tree.write("root/a.txt", "inside");
    tree.write("root/sub/deep/b.txt", "deep");
    tree.write("secret.txt", "outside");
  }
  // The bytes read, or the name of the error.
  std::string open(std::string_view path, Symlinks links) const {
    const OpenedFd root = open_root(tree.at("root"));
    if (!root) return "no root";
    const OpenedFd opened = open_below(root->get(), path, O_RDONLY | O_NONBLOCK, links, GetParam());
    if (!opened) return ::strerrorname_np(opened.error());
    char bytes[64];
    const auto got = ::read(opened->get(), bytes, sizeof bytes);
    return got < 0 ? ::strerrorname_np(errno) : std::string(bytes, static_cast<std::size_t>(got));
  }
  testing::TempTree tree;
};

constexpr auto kAll = {Symlinks::beneath, Symlinks::follow, Symlinks::none};

TEST_P(SafeOpen, OpensFilesBelowTheRoot) {
  for (const Symlinks links : kAll) {
    EXPECT_EQ(open("a.txt", links), "inside");
    EXPECT_EQ(open("sub/deep/b.txt", links), "deep");
    EXPECT_EQ(open("none.txt", links), "ENOENT");
    EXPECT_EQ(open("a.txt/x", links), "ENOTDIR");
    EXPECT_EQ(open("", links), "EISDIR");
  }
}

TEST_P(SafeOpen, RefusesToClimb) {
  for (const Symlinks links : {Symlinks::beneath, Symlinks::none}) {
    EXPECT_EQ(open("../secret.txt", links), "EXDEV");
    EXPECT_EQ(open("sub/../../secret.txt", links), "EXDEV");
  }
  for (const Symlinks links : kAll) {
    EXPECT_EQ(open(tree.at("secret.txt"), links), "EXDEV");
    EXPECT_EQ(open(std::string_view("a.txt\0x", 7), links), "EXDEV");
  }
}

TEST_P(SafeOpen, FollowsLinksByPolicy) {
  tree.link("root/in", "sub/deep/b.txt");
  tree.link("root/sub/back", "../a.txt");
  tree.link("root/dir", "sub");
  tree.link("root/out", "../secret.txt");
  tree.link("root/absolute", tree.at("root/a.txt"));
  tree.link("root/sub/up", "../..");
  EXPECT_EQ(open("in", Symlinks::beneath), "deep");
  EXPECT_EQ(open("sub/back", Symlinks::beneath), "inside");
  EXPECT_EQ(open("dir/deep/b.txt", Symlinks::beneath), "deep");
  EXPECT_EQ(open("out", Symlinks::beneath), "EXDEV");
  EXPECT_EQ(open("absolute", Symlinks::beneath), "EXDEV");
  EXPECT_EQ(open("sub/up/secret.txt", Symlinks::beneath), "EXDEV");
  EXPECT_EQ(open("out", Symlinks::follow), "outside");
  EXPECT_EQ(open("absolute", Symlinks::follow), "inside");
  for (const auto* path : {"in", "sub/back", "dir/deep/b.txt", "out", "absolute"}) {
    EXPECT_EQ(open(path, Symlinks::none), "ELOOP") << path;
  }
}

TEST_P(SafeOpen, EndsInCirclesAndDanglingLinks) {
  tree.link("root/loop", "loop");
  tree.link("root/ping", "pong");
  tree.link("root/pong", "ping");
  tree.link("root/dangling", "nowhere");
  for (const Symlinks links : {Symlinks::beneath, Symlinks::follow}) {
    EXPECT_EQ(open("loop", links), "ELOOP");
    EXPECT_EQ(open("ping", links), "ELOOP");
    EXPECT_EQ(open("loop/x", links), "ELOOP");
    EXPECT_EQ(open("dangling", links), "ENOENT");
  }
}

TEST_P(SafeOpen, ReportsNamesThatAreTooLong) {
  for (const Symlinks links : kAll) EXPECT_EQ(open(std::string(300, 'x'), links), "ENAMETOOLONG");
}

TEST_P(SafeOpen, FollowsTheLinksOfTheRootItself) {
  tree.link("current", "root");
  const OpenedFd root = open_root(tree.at("current"));
  ASSERT_TRUE(root);
  EXPECT_TRUE(open_below(root->get(), "a.txt", O_RDONLY, Symlinks::none, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Both, SafeOpen, ::testing::Values(Resolver::kernel, Resolver::walk), [](const auto& test) {
  return test.param == Resolver::kernel ? std::string("kernel") : std::string("walk");
});

}  // namespace
}  // namespace pontage::cache
