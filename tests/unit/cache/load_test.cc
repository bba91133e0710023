// What is made of files, and when it is made anew.
#include "src/cache/load.h"

#include <set>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "protocols/message/http_date.h"
#include "tests/unit/cache/temp_tree.h"

namespace pontage::cache {
namespace {

using message::HeaderId;

Presentation shown_as(std::string_view type) {
  Presentation shown;
  shown.content_type = type;
  return shown;
}

class Load : public ::testing::Test {
 protected:
  Load() { tree.mkdir("root"); }
  FileRoot root() const { return {.id = 7, .directory = tree.at("root")}; }
  EntryRef load(std::string_view path, std::string_view type = "text/plain") const {
    auto loaded = load_file(root(), {path, shown_as(type)});
    return loaded ? *loaded : EntryRef();
  }
  // What a request at `now` would be given.
  EntryRef ask(std::string_view path, std::uint64_t now) {
    Found found = files.find(7, path, now);
    if (found.freshness == Freshness::fresh) return found.entry;
    auto refreshed = refresh({.files = &files}, root(), {path, shown_as("text/plain")}, found.entry, now);
    return refreshed ? refreshed->entry : EntryRef();
  }
  testing::TempTree tree;
  FileCache files{config::Config::StaticCache{}};
};

TEST_F(Load, PreparesTheHeadOfASmallFile) {
  tree.write("root/a.txt", "hello");
  tree.set_mtime("root/a.txt", 784111777);
  const EntryRef entry = load("a.txt");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->kind(), FileKind::file);
  EXPECT_EQ(entry->body(), "hello");
  EXPECT_TRUE(entry->in_memory());
  const std::string etag(entry->value(HeaderId::etag));
  EXPECT_EQ(entry->prepared(), "ETag: " + etag +
                                   "\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nAccept-Ranges: bytes\r\n"
                                   "Content-Type: text/plain\r\nContent-Length: 5\r\n");
  EXPECT_EQ(entry->prepared().substr(0, entry->not_modified_size()),
            "ETag: " + etag + "\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
  EXPECT_EQ(entry->prepared().data() + entry->prepared().size(), entry->body().data());
}

TEST_F(Load, KeepsADescriptorOfALargerFile) {
  tree.write("root/edge", std::string(kMemoryBody, 'x'));
  tree.write("root/large", std::string(kMemoryBody + 1, 'x'));
  EXPECT_TRUE(load("edge")->in_memory());
  const EntryRef large = load("large");
  EXPECT_FALSE(large->in_memory());
  EXPECT_TRUE(large->body().empty());
  EXPECT_TRUE(same_bytes(*large));
}

TEST_F(Load, MakesNoLastModifiedOf1970) {
  tree.write("root/a", "x");
  tree.set_mtime("root/a", 0);
  EXPECT_EQ(load("a")->value(HeaderId::last_modified), "");
  EXPECT_EQ(load("a")->not_modified_size(), load("a")->value(HeaderId::etag).size() + 8);
  tree.set_mtime("root/a", -5);
  EXPECT_EQ(load("a")->value(HeaderId::last_modified), "");
}

TEST_F(Load, NeverClaimsAModificationInTheFuture) {
  tree.write("root/a", "x");
  tree.set_mtime("root/a", ::time(nullptr) + 86400);
  EXPECT_LE(load("a")->modified_seconds(), ::time(nullptr));
}

TEST_F(Load, TagsTellVersionsOfTheSameSizeAndSecondApart) {
  std::set<std::string> tags;
  for (const long nanoseconds : {1L, 2L}) {
    tree.write("root/a", "x");
    tree.set_mtime("root/a", 1000, nanoseconds);
    tags.emplace(load("a")->value(HeaderId::etag));
  }
  tree.replace("root/a", "y");
  tree.set_mtime("root/a", 1000, 1);
  tags.emplace(load("a")->value(HeaderId::etag));
  EXPECT_EQ(tags.size(), 3U);
}

TEST_F(Load, HidesWhatIsNoFile) {
  tree.mkdir("root/dir");
  ASSERT_EQ(::mkfifo(tree.at("root/fifo").c_str(), 0666), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = tree.at("root/socket");
  name.copy(address.sun_path, sizeof address.sun_path - 1);
  const util::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  tree.link("root/device", "/dev/null");
  EXPECT_EQ(load("dir")->kind(), FileKind::directory);
  EXPECT_EQ(load("fifo")->kind(), FileKind::missing);  // and returns at all
  EXPECT_EQ(load("socket")->kind(), FileKind::missing);
  EXPECT_EQ(load("device")->kind(), FileKind::missing);
  EXPECT_EQ(load("dir/none")->kind(), FileKind::missing);
  EXPECT_EQ(load(std::string(300, 'n'))->kind(), FileKind::missing);
  const FileRoot following{.id = 7, .directory = tree.at("root"), .links = Symlinks::follow};
  EXPECT_EQ((*load_file(following, {"device", {}}))->kind(), FileKind::missing);
}

TEST_F(Load, AMissingRootHasNoFiles) {
  const FileRoot nowhere{.id = 1, .directory = tree.at("nowhere")};
  EXPECT_EQ((*load_file(nowhere, {"a", {}}))->kind(), FileKind::missing);
}

TEST_F(Load, OutOfDescriptorsIsOverload) {
  tree.write("root/a", "x");
  rlimit old{};
  ::getrlimit(RLIMIT_NOFILE, &old);
  const util::UniqueFd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const rlimit none{static_cast<rlim_t>(next.get()), old.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  const auto loaded = load_file(root(), {"a", {}});
  ::setrlimit(RLIMIT_NOFILE, &old);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, util::ErrorKind::overload);
}

TEST_F(Load, TrustsAnEntryForItsWindowOnly) {
  tree.write("root/a", "old");
  EXPECT_EQ(ask("a", 1000)->body(), "old");
  tree.replace("root/a", "new");
  EXPECT_EQ(ask("a", 1999)->body(), "old");
  EXPECT_EQ(ask("a", 2000)->body(), "new");
}

TEST_F(Load, RenewsAnUnchangedFile) {
  tree.write("root/a", "x");
  const EntryRef first = ask("a", 1000);
  EXPECT_EQ(ask("a", 2000).get(), first.get());
  EXPECT_EQ(files.find(7, "a", 2999).freshness, Freshness::fresh);
  EXPECT_EQ(files.find(7, "a", 3000).freshness, Freshness::expired);
}

TEST_F(Load, SeesASwitchedRootLinkAfterTheWindow) {
  tree.write("v1/a", "one");
  tree.write("v2/a", "two");
  tree.remove("root");
  tree.link("root", "v1");
  EXPECT_EQ(ask("a", 1000)->body(), "one");
  tree.link("next", "v2");
  testing::fs::rename(tree.at("next"), tree.at("root"));
  EXPECT_EQ(ask("a", 1500)->body(), "one");
  EXPECT_EQ(ask("a", 2000)->body(), "two");
}

TEST_F(Load, SeesFilesComeAndGo) {
  EXPECT_EQ(ask("a", 1000)->kind(), FileKind::missing);
  tree.write("root/a", "x");
  EXPECT_EQ(ask("a", 1999)->kind(), FileKind::missing);
  EXPECT_EQ(ask("a", 2000)->kind(), FileKind::file);
  tree.remove("root/a");
  EXPECT_EQ(ask("a", 3000)->kind(), FileKind::missing);
}

TEST_F(Load, ServesOnWhileDescriptorsAreShort) {
  tree.write("root/a", "x");
  const EntryRef known = ask("a", 1000);
  rlimit old{};
  ::getrlimit(RLIMIT_NOFILE, &old);
  const util::UniqueFd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const rlimit none{static_cast<rlim_t>(next.get()), old.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  const EntryRef served = ask("a", 9000);
  ::setrlimit(RLIMIT_NOFILE, &old);
  EXPECT_EQ(served.get(), known.get());
}

TEST_F(Load, NoticesThatADescriptorsFileWasWrittenInPlace) {
  tree.write("root/big", std::string(20000, 'x'));
  const EntryRef entry = ask("big", 1000);
  tree.replace("root/big", std::string(20000, 'y'));
  EXPECT_TRUE(same_bytes(*entry)) << "the old file is whole, though its name has gone";
  const EntryRef second = ask("big", 2000);
  ASSERT_EQ(::truncate(tree.at("root/big").c_str(), 10), 0);
  EXPECT_FALSE(same_bytes(*second));
}

TEST_F(Load, ALookThatWaitedTakesWhatAnotherFound) {
  tree.write("root/a", "first");
  auto first = refresh({.files = &files}, root(), {"a", {}}, EntryRef(), 1000);
  ASSERT_TRUE(first);
  auto second = refresh({.files = &files}, root(), {"a", {}}, EntryRef(), 1000);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->entry.get(), first->entry.get());
  EXPECT_EQ(second->result, CacheResult::hit);
}

TEST_F(Load, AnEntryWhoseBytesChangedIsNotTakenForAnothersWork) {
  tree.write("root/a", std::string(20'000, 'x'));
  auto first = refresh({.files = &files}, root(), {"a", {}}, EntryRef(), 1000);
  ASSERT_TRUE(first);
  tree.write("root/a", std::string(30'000, 'y'));
  auto second = refresh({.files = &files}, root(), {"a", {}}, first->entry, 1000);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->entry->size(), 30'000U);
}

}  // namespace
}  // namespace pontage::cache
