// What a request leads to: candidates, variants, rules, error files, several ranges.
#include <gtest/gtest.h>

#include "src/http/encoder.h"
#include "tests/unit/handlers_files/site.h"

namespace pontage::handlers {
namespace {

using message::ContentCoding;
using message::HeaderId;
using message::Method;

constexpr config::Config::StaticCache kTrusting{.recheck = config::Millis(3'600'000)};

// The parts of a multipart body, as (Content-Range, bytes); empty when it is not well-formed to the byte.
std::vector<std::pair<std::string, std::string>> parts_of(const Answer& answer) {
  constexpr std::string_view kType = "multipart/byteranges; boundary=";
  const std::string type = answer["Content-Type"];
  if (!type.starts_with(kType)) return {};
  const std::string mark = "\r\n--" + type.substr(kType.size());
  std::vector<std::pair<std::string, std::string>> parts;
  std::string_view rest = answer.body;
  while (rest.starts_with(mark + "\r\n")) {
    rest.remove_prefix(mark.size() + 2);
    const std::size_t end_of_head = rest.find("\r\n\r\n");
    const std::string_view head = rest.substr(0, end_of_head);
    rest.remove_prefix(end_of_head + 4);
    const std::size_t end = rest.find(mark);
    parts.emplace_back(head.substr(head.find("Content-Range: ") + 15), rest.substr(0, end));
    rest.remove_prefix(end);
  }
  return rest == mark + "--\r\n" ? parts : std::vector<std::pair<std::string, std::string>>{};
}

std::string some_text(std::size_t lines) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

class Choices : public ::testing::TestWithParam<config::FilesAction::Cache> {};

TEST_P(Choices, SeveralRangesComeInPartsOfTheExactLength) {
  Site site;
  const std::string text = some_text(5000);
  site.tree.write("root/a.txt", text);
  site.tree.write("root/small.txt", text.substr(0, 3000));
  site.action.cache = GetParam();
  site.remake();
  const std::pair<std::string, std::string_view> files[] = {{"/a.txt", text},
                                                            {"/small.txt", std::string_view(text).substr(0, 3000)}};
  for (const auto& [name, whole] : files) {
    const Answer answer = site.get(name, {{HeaderId::range, "bytes=0-9,1000-1099,-7"}});
    EXPECT_EQ(answer.status, 206);
    EXPECT_EQ(answer.framing.length, answer.body.size());
    const auto parts = parts_of(answer);
    ASSERT_EQ(parts.size(), 3U) << answer.body;
    EXPECT_EQ(parts[0].second, whole.substr(0, 10));
    EXPECT_EQ(parts[1].second, whole.substr(1000, 100));
    EXPECT_EQ(parts[2].second, whole.substr(whole.size() - 7));
    EXPECT_EQ(parts[1].first, "bytes 1000-1099/" + std::to_string(whole.size()));
    EXPECT_EQ(answer["Content-Range"], "");
  }
}

TEST_P(Choices, AsManyRangesAsAllowedFitIntoOneBody) {
  Site site;
  const std::string text = some_text(5000);
  site.tree.write("root/a.txt", text);
  site.action.cache = GetParam();
  site.action.max_ranges = 64;
  site.remake();
  std::string value = "bytes=0-0";
  for (int i = 1; i < 64; ++i) value += "," + std::to_string(i * 200) + "-" + std::to_string(i * 200 + 2);
  const Answer answer = site.get("/a.txt", {{HeaderId::range, value}});
  const auto parts = parts_of(answer);
  ASSERT_EQ(parts.size(), 64U);
  EXPECT_EQ(answer.framing.length, answer.body.size());
  for (std::size_t i = 1; i < 64; ++i) EXPECT_EQ(parts[i].second, text.substr(i * 200, 3));
}

INSTANTIATE_TEST_SUITE_P(Modes, Choices,
                         ::testing::Values(config::FilesAction::Cache::memory, config::FilesAction::Cache::file,
                                           config::FilesAction::Cache::uncached));

TEST(Candidates, AreTriedInTurn) {
  Site site;
  site.tree.write("root/index.html", "home");
  site.tree.write("root/about.html", "about");
  site.tree.write("root/docs/index.html", "docs");
  site.action.candidates = {"$path", "$path.html", "$path/", "/index.html"};
  site.remake();
  EXPECT_EQ(site.get("/about").body, "about");
  EXPECT_EQ(site.get("/about.html").body, "about");
  EXPECT_EQ(site.get("/docs/").body, "docs");
  EXPECT_EQ(site.get("/docs").status, 301);
  EXPECT_EQ(site.get("/anything/else").body, "home");
  EXPECT_EQ(site.get("/.git/config").status, 404) << "what is hidden is not looked for";
  site.action.candidates = {"$path", "=410"};
  site.remake(2);
  EXPECT_EQ(site.get("/nothing").status, 410);
}

TEST(Candidates, ARewriteMayPutThemBelowAFolder) {
  Site site;
  site.tree.write("root/v2/a.txt", "new");
  site.action.candidates = {"/v2$path", "=404"};
  site.remake();
  EXPECT_EQ(site.get("/a.txt").body, "new");
  EXPECT_EQ(site.get("/v2/a.txt").status, 404);
}

TEST(Variants, AHitIsNotCompressedAgain) {
  Site site(kBeneath, kTrusting);
  site.tree.write("root/a.txt", some_text(1000));
  site.compression.codings = {ContentCoding::zstd, ContentCoding::gzip};
  site.remake();
  const std::map<HeaderId, std::string> gzip{{HeaderId::accept_encoding, "gzip"}};
  const Answer first = site.get("/a.txt", gzip);
  const Answer again = site.get("/a.txt", gzip);
  EXPECT_EQ(first["Content-Encoding"], "gzip");
  EXPECT_EQ(first.cache, "miss");
  EXPECT_EQ(again.cache, "hit");
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(again["ETag"], first["ETag"]);
  EXPECT_EQ(site.get("/a.txt", {{HeaderId::accept_encoding, "gzip, zstd"}})["Content-Encoding"], "zstd");
  EXPECT_EQ(site.get("/a.txt").body, some_text(1000));
}

TEST(Variants, ARangeIsOfTheFileAndLeavesTheVariantAlone) {
  Site site(kBeneath, kTrusting);
  const std::string text = some_text(1000);
  site.tree.write("root/a.txt", text);
  site.action.precompressed = {ContentCoding::gzip};
  site.compression.codings = {ContentCoding::gzip};
  site.remake();
  const std::map<HeaderId, std::string> part{{HeaderId::accept_encoding, "gzip"}, {HeaderId::range, "bytes=5-14"}};
  for (int round = 0; round < 2; ++round) {
    const Answer answer = site.get("/a.txt", part);
    EXPECT_EQ(answer.status, 206);
    EXPECT_EQ(answer.body, text.substr(5, 10));
    EXPECT_EQ(answer["Content-Encoding"], "");
    EXPECT_EQ(site.get("/a.txt", {{HeaderId::accept_encoding, "gzip"}})["Content-Encoding"], "gzip");
  }
}

TEST(Variants, WhatCompressionMakesLargerIsSentAsItIs) {
  Site site(kBeneath, kTrusting);
  std::string noise(4000, '\0');
  std::uint32_t state = 1;
  for (char& c : noise) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  site.tree.write("root/a.txt", noise);
  site.compression.codings = {ContentCoding::gzip};
  site.remake();
  for (int round = 0; round < 2; ++round) {
    const Answer answer = site.get("/a.txt", {{HeaderId::accept_encoding, "gzip"}});
    EXPECT_EQ(answer["Content-Encoding"], "");
    EXPECT_EQ(answer.body, noise);
    EXPECT_EQ(answer["Vary"], "Accept-Encoding");
  }
}

TEST(Variants, AFileBesideIsTheOnesOfItsFileAlone) {
  Site site(kBeneath, {.recheck = config::Millis(0)});
  site.tree.write("root/a.js", "first");
  site.tree.write("root/a.js.gz", "packed");
  site.tree.set_mtime("root/a.js", 1'000'000);
  site.tree.set_mtime("root/a.js.gz", 1'000'000);
  site.action.precompressed = {ContentCoding::br, ContentCoding::gzip};
  site.remake();
  const std::map<HeaderId, std::string> gzip{{HeaderId::accept_encoding, "br, gzip"}};
  EXPECT_EQ(site.get("/a.js", gzip).body, "packed");
  EXPECT_EQ(site.get("/a.js", gzip)["Content-Type"], "text/javascript; charset=utf-8");
  site.tree.replace("root/a.js", "second");
  EXPECT_EQ(site.get("/a.js", gzip).body, "second") << "what lies beside is older now";
  site.tree.replace("root/a.js.gz", "packed again");
  EXPECT_EQ(site.get("/a.js", gzip).body, "packed again");
  site.tree.remove("root/a.js.gz");
  EXPECT_EQ(site.get("/a.js", gzip).body, "second");
  site.tree.remove("root/a.js");
  EXPECT_EQ(site.get("/a.js", gzip).status, 404);
}

TEST(Rules, TheFirstThatFitsSaysHowLongAFileKeeps) {
  Site site;
  for (const auto* name : {"root/assets/a.js", "root/b.css", "root/c.png", "root/d.html"}) site.tree.write(name, "x");
  site.action.cache_rules.reserve(3);
  auto rule = [&](std::string path, std::string type, std::string value) -> config::CacheRule& {
    config::CacheRule& made = site.action.cache_rules.emplace_back();
    made.path = std::move(path);
    made.type = std::move(type);
    made.value = std::move(value);
    return made;
  };
  config::CacheRule& assets = rule("/assets/*", "", "public");
  assets.max_age = config::Millis(60'000);
  assets.immutable = true;
  rule("*.css", "", "no-store");
  config::CacheRule& images = rule("", "image/*", "");
  images.max_age = config::Millis(5'000);
  images.expires = true;
  site.remake();
  EXPECT_EQ(site.get("/assets/a.js")["Cache-Control"], "public, max-age=60, immutable");
  EXPECT_EQ(site.get("/b.css")["Cache-Control"], "no-store");
  const Answer image = site.get("/c.png");
  EXPECT_EQ(image["Cache-Control"], "max-age=5");
  EXPECT_NE(image["Expires"], "");
  EXPECT_EQ(image.prepared, "") << "a head with a date of its own cannot be made in advance";
  EXPECT_EQ(site.get("/d.html")["Cache-Control"], "");
  const Answer unchanged = site.get("/b.css", {{HeaderId::if_none_match, site.get("/b.css")["ETag"]}});
  EXPECT_EQ(unchanged.status, 304);
  EXPECT_EQ(unchanged["Cache-Control"], "no-store") << "a 304 repeats it (RFC 9110 15.4.5)";
}

TEST(ErrorFiles, KeepStatusAndFieldsOfTheError) {
  Site site;
  site.tree.write("root/404.html", "<p>no");
  site.tree.write("root/ten", "0123456789");
  site.action.error_files = {{404, "/404.html"}, {405, "/404.html"}, {416, "/gone.html"}};
  site.remake();
  const Answer missing = site.get("/x");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.body, "<p>no");
  EXPECT_EQ(missing["ETag"], "") << "the page is no representation of /x";
  const Answer method = site.ask({.target = "/ten", .method = Method::post});
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(method["Allow"], "GET, HEAD");
  EXPECT_EQ(method.body, "<p>no");
  EXPECT_EQ(site.get("/ten", {{HeaderId::range, "bytes=50-"}}).status, 416) << "a missing page leaves the plain one";
  const Answer head = site.ask({.target = "/x", .method = Method::head});
  EXPECT_EQ(head.framing.length, 5U);
  EXPECT_EQ(head.pulls, 0U);
}

}  // namespace
}  // namespace pontage::handlers
