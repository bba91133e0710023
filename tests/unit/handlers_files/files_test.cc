// What clients get from files: routes: heads, bodies, conditions, ranges, directories.
#include "src/handlers/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/unit/handlers_files/site.h"

namespace pontage::handlers {
namespace {

using message::BodyKind;
using message::HeaderId;
using message::Method;

constexpr config::Config::StaticCache kAlwaysLook{.recheck = config::Millis(0)};

TEST(Files, ServesASmallFileInOnePull) {
  Site site;
  site.tree.write("root/a.html", "<p>hello");
  const Answer answer = site.get("/a.html");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "<p>hello");
  EXPECT_EQ(answer.pulls, 1U);
  EXPECT_EQ(answer["Content-Type"], "text/html; charset=utf-8");
  EXPECT_EQ(answer["Accept-Ranges"], "bytes");
  EXPECT_EQ(answer.framing, (message::BodyFraming{BodyKind::exact, 8}));
  EXPECT_EQ(answer["Content-Length"], "") << "sessions write it";
  EXPECT_NE(answer.prepared.find("Content-Length: 8\r\n"), std::string::npos);
  for (const auto& [name, value] : answer.fields) {
    EXPECT_NE(answer.prepared.find(name + ": " + value + "\r\n"), std::string::npos) << name;
  }
}

TEST(Files, TellsTheCachesPart) {
  Site site(kBeneath, {.max_file = 20'000, .recheck = config::Millis(60'000)});
  site.tree.write("root/small", "x");
  site.tree.write("root/large", std::string(15'000, 'x'));
  site.tree.write("root/huge", std::string(30'000, 'x'));
  for (const auto* name : {"/small", "/large"}) {
    EXPECT_EQ(site.get(name).cache, "miss") << name;
    EXPECT_EQ(site.get(name).cache, "hit") << name;
  }
  EXPECT_EQ(site.get("/huge").cache, "uncached");
  EXPECT_EQ(site.get("/huge").cache, "uncached");
  EXPECT_EQ(site.get("/huge").body.size(), 30'000U);
}

TEST(Files, HeadHasTheHeadOfGet) {
  Site site;
  site.tree.write("root/a.txt", "hello");
  const Answer get = site.get("/a.txt");
  const Answer head = site.ask({.target = "/a.txt", .method = Method::head});
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.prepared, get.prepared);
  EXPECT_EQ(head.fields, get.fields);
  EXPECT_EQ(head.framing, get.framing);
  EXPECT_EQ(head.pulls, 0U);
}

TEST(Files, ServesAnEmptyFile) {
  Site site;
  site.tree.write("root/empty", "");
  const Answer answer = site.get("/empty");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.framing, (message::BodyFraming{BodyKind::exact, 0}));
  EXPECT_EQ(answer.pulls, 0U);
  EXPECT_EQ(answer["Content-Type"], "");
}

TEST(Files, KnowsGetAndHeadAlone) {
  Site site;
  site.tree.write("root/a", "x");
  for (const Method method : {Method::post, Method::put, Method::delete_, Method::trace, Method::propfind}) {
    const Answer answer = site.ask({.target = "/a", .method = method});
    EXPECT_EQ(answer.status, 405);
    EXPECT_EQ(answer["Allow"], "GET, HEAD");
  }
  const Answer options = site.ask({.target = "/a", .method = Method::options});
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options["Allow"], "GET, HEAD");
}

TEST(Files, AnswersFromTheClientsCache) {
  Site site;
  site.tree.write("root/a.txt", "hello");
  const Answer first = site.get("/a.txt");
  for (const auto id : {HeaderId::if_none_match, HeaderId::if_modified_since}) {
    const Answer answer = site.get("/a.txt", {{id, first[id == HeaderId::if_none_match ? "ETag" : "Last-Modified"]}});
    EXPECT_EQ(answer.status, 304);
    EXPECT_EQ(answer["ETag"], first["ETag"]);
    EXPECT_EQ(answer["Content-Type"], "");
    EXPECT_EQ(answer.framing.kind, BodyKind::none);
    EXPECT_EQ(answer.pulls, 0U);
    EXPECT_TRUE(first.prepared.starts_with(answer.prepared));
    EXPECT_EQ(answer.prepared.find("Content-"), std::string::npos);
  }
}

TEST(Files, RefusesAFailedPrecondition) {
  Site site;
  site.tree.write("root/a.txt", "hello");
  const std::string etag = site.get("/a.txt")["ETag"];
  EXPECT_EQ(site.get("/a.txt", {{HeaderId::if_match, etag}}).status, 200);
  EXPECT_EQ(site.get("/a.txt", {{HeaderId::if_match, "W/" + etag}}).status, 412);
  EXPECT_EQ(site.get("/a.txt", {{HeaderId::if_match, "\"zz\""}}).status, 412);
}

TEST(Files, ServesRangesOfSmallAndLargeFiles) {
  Site site;
  std::string large(50'000, 'x');
  large.replace(40'000, 5, "hello");
  site.tree.write("root/small.txt", "0123456789");
  site.tree.write("root/large.txt", large);
  const Answer small = site.get("/small.txt", {{HeaderId::range, "bytes=2-4"}});
  EXPECT_EQ(small.status, 206);
  EXPECT_EQ(small.body, "234");
  EXPECT_EQ(small["Content-Range"], "bytes 2-4/10");
  EXPECT_EQ(small.framing, (message::BodyFraming{BodyKind::exact, 3}));
  EXPECT_EQ(small.prepared, "");
  EXPECT_NE(small["ETag"], "");
  EXPECT_EQ(site.get("/large.txt", {{HeaderId::range, "bytes=40000-40004"}}).body, "hello");
  const Answer outside = site.get("/small.txt", {{HeaderId::range, "bytes=10-"}});
  EXPECT_EQ(outside.status, 416);
  EXPECT_EQ(outside["Content-Range"], "bytes */10");
  const Answer head =
      site.ask({.target = "/small.txt", .method = Method::head, .fields = {{HeaderId::range, "bytes=2-4"}}});
  EXPECT_EQ(head.status, 200);
}

TEST(Files, SendsTheWholeFileWhenIfRangeNamesAnother) {
  Site site;
  site.tree.write("root/a", "0123456789");
  site.tree.set_mtime("root/a", 1'000'000'000);
  const Answer first = site.get("/a");
  const auto ask = [&](const std::string& validator) {
    return site.get("/a", {{HeaderId::range, "bytes=0-1"}, {HeaderId::if_range, validator}}).status;
  };
  EXPECT_EQ(ask(first["ETag"]), 206);
  EXPECT_EQ(ask(first["Last-Modified"]), 206);
  EXPECT_EQ(ask("\"other\""), 200);
}

TEST(Files, ServesRangesPastFourGibibytes) {
  Site site;
  site.tree.write("root/sparse", "");
  const int fd = ::open(site.tree.at("root/sparse").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::ftruncate(fd, 6'000'000'000), 0);
  ASSERT_EQ(::pwrite(fd, "hello", 5, 5'000'000'000), 5);
  ::close(fd);
  const Answer answer = site.get("/sparse", {{HeaderId::range, "bytes=5000000000-5000000004"}});
  EXPECT_EQ(answer.status, 206);
  EXPECT_EQ(answer.body, "hello");
  EXPECT_EQ(answer["Content-Range"], "bytes 5000000000-5000000004/6000000000");
  site.most_body = 16;
  EXPECT_EQ(site.get("/sparse").framing.length, 6'000'000'000U);
}

TEST(Files, RedirectsADirectoryToItsSlash) {
  Site site;
  site.tree.write("root/dir/index.html", "index");
  const Answer answer = site.get("/dir?a=1&b");
  EXPECT_EQ(answer.status, 301);
  EXPECT_EQ(answer["Location"], "/dir/?a=1&b");
  EXPECT_EQ(site.get("/dir/").body, "index");
  EXPECT_EQ(site.get("/dir/")["Content-Type"], "text/html; charset=utf-8");
}

TEST(Files, RedirectsToThePathThatTheClientKnows) {
  Site site;
  site.tree.write("root/www/index.html", "index");
  EXPECT_EQ(site.ask({.target = "/app", .forward = "/www"})["Location"], "/app/");
  EXPECT_EQ(site.ask({.target = "/app/", .forward = "/www"}).body, "index") << "no redirect to itself";
  const Answer bare = site.ask({.target = "/app", .forward = "/", .bare_prefix = true});
  EXPECT_EQ(bare.status, 301);
  EXPECT_EQ(bare["Location"], "/app/");
}

TEST(Files, TakesTheFirstIndexThatIsThere) {
  Site site;
  site.action.index = {"index.html", "index.htm"};
  site.remake();
  site.tree.write("root/index.htm", "second");
  site.tree.mkdir("root/index.html");
  site.tree.mkdir("root/bare");
  EXPECT_EQ(site.get("/").body, "second");
  EXPECT_EQ(site.get("/bare/").status, 404);
  EXPECT_EQ(site.get("/none/").status, 404);
  EXPECT_EQ(site.get("/index.htm/").status, 404);
}

TEST(Files, SeesAFileReplacedByRename) {
  Site site(kBeneath, kAlwaysLook);
  site.tree.write("root/a", "old");
  const Answer before = site.get("/a");
  site.tree.replace("root/a", "new");
  const Answer after = site.get("/a");
  EXPECT_EQ(after.body, "new");
  EXPECT_NE(after["ETag"], before["ETag"]);
  site.tree.remove("root/a");
  EXPECT_EQ(site.get("/a").status, 404);
}

TEST(Files, NeverSendsAMixtureOfTwoVersions) {
  Site site;
  site.tree.write("root/big", std::string(3 << 20, 'x'));
  site.between_pulls = [&] { ASSERT_EQ(::truncate(site.tree.at("root/big").c_str(), 100), 0); };
  const Answer answer = site.get("/big");
  EXPECT_TRUE(answer.body_failed);
  EXPECT_LT(answer.body.size(), answer.framing.length);
}

TEST(Files, SendsTheOldVersionWholeWhenItsNameIsGone) {
  Site site;
  site.tree.write("root/big", std::string(3 << 20, 'x'));
  site.between_pulls = [&] { site.tree.replace("root/big", "new"); };
  const Answer answer = site.get("/big");
  EXPECT_FALSE(answer.body_failed);
  EXPECT_EQ(answer.body, std::string(3 << 20, 'x'));
}

// Root may read everything; so the test is somebody else for a while.
class Nobody {
 public:
  Nobody() : was_(::geteuid()) {
    if (was_ == 0) {
      EXPECT_EQ(::seteuid(65534), 0);
    }
  }
  ~Nobody() { EXPECT_EQ(::seteuid(was_), 0); }

 private:
  uid_t was_;
};

TEST(Files, ForbidsWhatMayNotBeRead) {
  Site site;
  site.tree.write("root/a", "x");
  site.tree.write("root/dir/index.html", "x");
  site.tree.write("root/unlisted/a", "x");
  ::chmod(site.tree.at("").c_str(), 0755);
  ::chmod(site.tree.at("root/a").c_str(), 0);
  ::chmod(site.tree.at("root/dir/index.html").c_str(), 0);
  ::chmod(site.tree.at("root/unlisted").c_str(), 0711);
  const Nobody nobody;
  EXPECT_EQ(site.get("/a").status, 403);
  EXPECT_EQ(site.get("/dir/").status, 403);
  EXPECT_EQ(site.get("/unlisted").status, 301);
  EXPECT_EQ(site.get("/unlisted/a").status, 200);
}

TEST(Files, ARequestThatIsGoneLeavesItsLookBehind) {
  Site site;
  site.tree.write("root/a", "x");
  const Answer answer = site.ask({.target = "/a", .cancelled = true});
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.error.kind, util::ErrorKind::cancelled);
  EXPECT_EQ(site.get("/a").status, 200);
}

TEST(Files, WorksByWalkingToo) {
  Site site;
  site.remake(2, cache::Resolver::walk);
  site.tree.write("root/dir/a.txt", "hello");
  EXPECT_EQ(site.get("/dir/a.txt").body, "hello");
  EXPECT_EQ(site.get("/dir").status, 301);
}

}  // namespace
}  // namespace pontage::handlers
