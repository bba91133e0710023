// Lists of folders: what is in them, and that hostile names stay names.
#include "src/handlers/listing.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "tests/unit/handlers_files/site.h"

namespace pontage::handlers {
namespace {

using message::HeaderId;

std::vector<std::string> names_of(const Listing& listing) {
  std::vector<std::string> names;
  for (const ListedName& entry : listing.names) names.push_back(entry.name + (entry.folder ? "/" : ""));
  return names;
}

class ReadListing : public ::testing::TestWithParam<cache::Resolver> {
 protected:
  cache::FileRoot root() const { return {.id = 1, .directory = tree.at("root"), .resolver = GetParam()}; }
  testing::TempTree tree;
};

TEST_P(ReadListing, HasFoldersFirstAndOnlyWhatIsServed) {
  tree.write("outside", "secret");
  tree.write("root/b.txt", "12345");
  tree.write("root/a.txt", "1");
  tree.write("root/.hidden", "1");
  tree.mkdir("root/z");
  tree.mkdir("root/.git");
  tree.mkdir("root/.well-known");
  tree.link("root/link", "a.txt");
  tree.link("root/out", "../outside");
  tree.link("root/absolute", "/etc");
  tree.link("root/dangling", "nowhere");
  tree.link("root/loop", "loop");
  ASSERT_EQ(::mkfifo(tree.at("root/fifo").c_str(), 0600), 0);
  const auto listing = read_listing(root(), "");
  ASSERT_TRUE(listing);
  EXPECT_EQ(names_of(*listing), (std::vector<std::string>{".well-known/", "z/", "a.txt", "b.txt", "link"}));
  EXPECT_EQ(listing->names[3].size, 5U);
  EXPECT_FALSE(listing->cut);
}

TEST_P(ReadListing, HidesDotNamesBelowTheRootAltogether) {
  tree.write("root/sub/.well-known/x", "1");
  tree.write("root/sub/a", "1");
  EXPECT_EQ(names_of(*read_listing(root(), "sub")), std::vector<std::string>{"a"});
}

TEST_P(ReadListing, SaysWhenTheFolderIsNone) {
  tree.write("root/a", "1");
  tree.link("root/out", "/etc");
  for (const auto* folder : {"a", "missing", "out"}) {
    const auto listing = read_listing(root(), folder);
    ASSERT_FALSE(listing) << folder;
    EXPECT_EQ(listing.error().kind, util::ErrorKind::closed) << folder;
  }
}

TEST_P(ReadListing, IsCutAtItsLimit) {
  tree.mkdir("root");
  for (std::size_t i = 0; i <= kMostListed; ++i)
    ::close(::open(tree.at("root/" + std::to_string(i)).c_str(), O_CREAT, 0600));
  const auto listing = read_listing(root(), "");
  ASSERT_TRUE(listing);
  EXPECT_EQ(listing->names.size(), kMostListed);
  EXPECT_TRUE(listing->cut);
  EXPECT_NE(listing_page(*listing, "/").find("Only 10000 names"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Resolvers, ReadListing, ::testing::Values(cache::Resolver::kernel, cache::Resolver::walk),
                         [](const auto& resolver) {
                           return resolver.param == cache::Resolver::kernel ? "kernel" : "walk";
                         });

TEST(ListingPage, EncodesOnceAndEscapes) {
  Listing listing;
  listing.names = {
      {"100% <b>&\"'.txt", false, 2048, 0}, {"a:b", true, 0, 0}, {"\xc3\xa4?#;", false, 1, 0}, {"x\ny", false, 0, 0}};
  const std::string page = listing_page(listing, "/<dir>/");
  EXPECT_NE(page.find("href=\"./100%25%20%3Cb%3E%26%22%27.txt\""), std::string::npos) << page;
  EXPECT_NE(page.find("100% &lt;b&gt;&amp;&quot;&#39;.txt"), std::string::npos);
  EXPECT_NE(page.find("href=\"./a%3Ab/\""), std::string::npos);
  EXPECT_NE(page.find("href=\"./%C3%A4%3F%23%3B\""), std::string::npos);
  EXPECT_NE(page.find("href=\"./x%0Ay\""), std::string::npos);
  EXPECT_NE(page.find("<title>/&lt;dir&gt;/</title>"), std::string::npos);
  EXPECT_NE(page.find("2.0 KiB"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_NE(page.find("href=\"../\""), std::string::npos);
  EXPECT_EQ(listing_page(listing, "/").find("href=\"../\""), std::string::npos) << "the root has nothing above";
}

TEST(ListingJson, IsJsonWhateverTheNames) {
  Listing listing;
  listing.names = {{"d", true, 0, 784111777}, {"\xff\xfe\"\n", false, 3, 784111777}};
  const auto json = nlohmann::json::parse(listing_json(listing));
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["type"], "directory");
  EXPECT_FALSE(json[0].contains("size"));
  EXPECT_EQ(json[1]["size"], 3);
  EXPECT_EQ(json[1]["mtime"], "1994-11-06T08:49:37Z");
  EXPECT_EQ(json[1]["name"], "\xef\xbf\xbd\xef\xbf\xbd\"\n");
}

TEST(ListingForm, GoesByAccept) {
  const std::pair<const char*, bool> cases[] = {{"application/json", true},
                                                {"text/html", false},
                                                {"*/*", false},
                                                {"text/html, application/json", false},
                                                {"application/json, text/html;q=0.9", true},
                                                {"application/json;q=0.5, */*;q=0.8", false},
                                                {"application/json;q=0", false},
                                                {"Application/JSON", true},
                                                {"", false}};
  for (const auto& [value, json] : cases) {
    message::Arena arena;
    message::HeaderList headers(arena);
    headers.add(HeaderId::accept, value);
    EXPECT_EQ(prefers_json(headers), json) << value;
  }
  EXPECT_FALSE(prefers_json(message::HeaderList()));
}

TEST(ListingRoute, AnswersFoldersWithoutAnIndex) {
  Site site;
  site.tree.write("root/plain/a.txt", "1");
  site.tree.write("root/indexed/index.html", "index");
  site.action.listing = true;
  site.remake();
  const Answer page = site.get("/plain/");
  EXPECT_EQ(page.status, 200);
  EXPECT_NE(page.body.find("a.txt"), std::string::npos);
  EXPECT_EQ(page["Vary"], "Accept");
  EXPECT_NE(page["Content-Security-Policy"], "");
  EXPECT_EQ(site.get("/indexed/").body, "index");
  EXPECT_EQ(site.get("/plain").status, 301);
  EXPECT_EQ(site.get("/missing/").status, 404);
  EXPECT_EQ(site.get("/plain/a.txt/").status, 404);
}

}  // namespace
}  // namespace pontage::handlers
