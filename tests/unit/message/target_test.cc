#include "protocols/message/target.h"

#include <string>

#include <gtest/gtest.h>

namespace pontage::message {
namespace {

using wire::DecodeError;

std::string canonical(std::string_view path, Slashes slashes = Slashes::merge) {
  Arena arena;
  const auto out = canonical_path(path, slashes, arena);
  return out ? std::string(out->path) : "refused";
}
std::string matched(std::string_view path, Slashes slashes = Slashes::merge) {
  Arena arena;
  const auto out = canonical_path(path, slashes, arena);
  return out ? std::string(out->match) : "refused";
}

TEST(Target, OriginFormSplitsAtTheFirstQuestionMark) {
  const auto target = parse_target("/a;p=1/b?x=/?y", Method::get);
  ASSERT_TRUE(target);
  EXPECT_EQ(target->form, TargetForm::origin);
  EXPECT_EQ(target->raw_path, "/a;p=1/b");
  EXPECT_EQ(target->query, "x=/?y");
  EXPECT_TRUE(parse_target("/x?", Method::get)->has_query);
  EXPECT_FALSE(parse_target("/x", Method::get)->has_query);
}

TEST(Target, AbsoluteFormGivesAuthorityAndAtLeastASlash) {
  const auto target = parse_target("HTTP://a.example:81/x?q", Method::post);
  ASSERT_TRUE(target);
  EXPECT_EQ(target->form, TargetForm::absolute);
  EXPECT_EQ(target->scheme, "HTTP");
  EXPECT_EQ(target->authority, "a.example:81");
  EXPECT_EQ(target->raw_path, "/x");
  EXPECT_EQ(target->query, "q");
  const auto bare = parse_target("https://a?q", Method::get);
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->raw_path, "/");
  EXPECT_EQ(bare->query, "q");
}

TEST(Target, OtherFormsBelongToTheirMethods) {
  EXPECT_EQ(parse_target("*", Method::options)->form, TargetForm::asterisk);
  EXPECT_FALSE(parse_target("*", Method::get));
  EXPECT_EQ(parse_target("a:443", Method::connect)->form, TargetForm::authority);
  EXPECT_EQ(parse_target("a:443", Method::connect)->authority, "a:443");
  for (const auto* text : {"a", "/a", "*", "a:", "http://a:1/"})
    EXPECT_FALSE(parse_target(text, Method::connect)) << text;
  EXPECT_FALSE(parse_target("a:443", Method::get));
}

TEST(Target, RefusesWhatNoUriHolds) {
  for (const auto* text : {"",
                           "x",
                           "?",
                           "/a#b",
                           "/a b",
                           "/\xc3\xa9",
                           "/\t",
                           "/\x7f",
                           "/<",
                           "/>",
                           "/\"",
                           "ftp://a/",
                           "http:/a",
                           "http:///x",
                           "http://u@a/",
                           "http://u:p@a/",
                           "http://a b/",
                           "http://[::1/",
                           "http://a:99999/",
                           "://a/",
                           "http://"}) {
    const auto target = parse_target(text, Method::get);
    ASSERT_FALSE(target) << text;
    EXPECT_EQ(target.error(), DecodeError::malformed_target);
  }
  EXPECT_FALSE(parse_target(std::string_view("/\0", 2), Method::get));
}

// Wide and narrow checks of the bytes agree wherever a byte stands.
TEST(Target, RefusesABadByteAtEveryPlace) {
  for (std::size_t length = 1; length < 40; ++length) {
    for (std::size_t at = 1; at < length; ++at) {
      for (int c = 0; c < 256; ++c) {
        std::string text(length, '/');
        text[at] = static_cast<char>(c);
        const bool good = c > 0x20 && c < 0x7f && c != '#' && c != '"' && c != '<' && c != '>';
        ASSERT_EQ(parse_target(text, Method::get).has_value(), good) << c << " at " << at << " of " << length;
      }
    }
  }
}

// Browsers send these unescaped.
TEST(Target, AcceptsThePunctuationThatBrowsersSend) {
  EXPECT_TRUE(parse_target("/a|b\\c?[x]={y}|z^`'", Method::get));
}

TEST(Authority, IsHostAndOptionalPort) {
  EXPECT_EQ(parse_authority("A.example")->host, "A.example");
  EXPECT_EQ(parse_authority("a:8080")->port, 8080);
  EXPECT_EQ(parse_authority("a:")->port, 0);
  EXPECT_EQ(parse_authority("a:")->host, "a");
  EXPECT_EQ(parse_authority("[::1]:80")->host, "[::1]");
  EXPECT_EQ(parse_authority("[::1]:80")->port, 80);
  for (const auto* good : {"[::]", "[1:2:3:4:5:6:7:8]", "[1::8]", "[::ffff:192.0.2.1]", "[1:2:3:4:5:6:192.0.2.1]",
                           "a_b", "xn--e1afmkfd", "a%20b", "1.2.3.4", "[2001:db8::]"}) {
    EXPECT_TRUE(parse_authority(good)) << good;
  }
}

TEST(Authority, RefusesEverythingElse) {
  for (const auto* bad : {"",
                          ":80",
                          "a b",
                          "a,b",
                          "u@a",
                          "a/b",
                          "a?b",
                          "a#b",
                          "a:x",
                          "a:65536",
                          "a:0",
                          "a:-1",
                          "a:80:80",
                          "a%2",
                          "a%zz",
                          "[::1",
                          "::1",
                          "[]",
                          "[:]",
                          "[:::]",
                          "[1::2::3]",
                          "[1:2:3:4:5:6:7]",
                          "[1:2:3:4:5:6:7:8:9]",
                          "[12345::]",
                          "[::1]x",
                          "[::1]80",
                          "[fe80::1%25eth0]",
                          "[::256.0.0.1]",
                          "[::01.2.3.4]",
                          "[::1.2.3.4:5]",
                          "[::1.2.3]",
                          "[v1.a]",
                          "[1:2:3:4:5:6:7::8]",
                          "\xc3\xa9",
                          "a\"",
                          "a\\b"}) {
    const auto authority = parse_authority(bad);
    ASSERT_FALSE(authority) << bad;
    EXPECT_EQ(authority.error(), DecodeError::malformed_host);
  }
}

TEST(CanonicalPath, LeavesPlainPathsWhereTheyAre) {
  Arena arena;
  const std::string_view plain = "/a/b.c/d~e/";
  const auto out = canonical_path(plain, Slashes::merge, arena);
  EXPECT_EQ(out->path.data(), plain.data());
  EXPECT_EQ(out->match.data(), plain.data());
}

TEST(CanonicalPath, DecodesUnreservedOnceAndNothingElse) {
  EXPECT_EQ(canonical("/%41%7e%2D%5f%30"), "/A~-_0");
  EXPECT_EQ(canonical("/%20%3a%c3%a9"), "/%20%3A%C3%A9");
  EXPECT_EQ(canonical("/%2541"), "/%2541");
  EXPECT_EQ(canonical("/%3B%3f%23"), "/%3B%3F%23");
  for (const auto* bad : {"/%", "/%4", "/%zz", "/%4g/", "/a%/b", "/%4/1", "", "a"}) {
    EXPECT_EQ(canonical(bad), "refused") << bad;
  }
}

TEST(CanonicalPath, ResolvesEveryDotSegmentAndNeverClimbs) {
  EXPECT_EQ(canonical("/pub/%2e%2e/private"), "/private");
  EXPECT_EQ(canonical("/pub/%2E./private"), "/private");
  EXPECT_EQ(canonical("/pub/..;/private"), "/private");
  EXPECT_EQ(canonical("/pub/..;x=1/private"), "/private");
  EXPECT_EQ(canonical("/pub/.;x/private"), "/pub/private");
  EXPECT_EQ(canonical("/../../x"), "/x");
  EXPECT_EQ(canonical("/a/.."), "/");
  EXPECT_EQ(canonical("/a/b/.."), "/a/");
  EXPECT_EQ(canonical("/a/."), "/a/");
  EXPECT_EQ(canonical("/.."), "/");
  EXPECT_EQ(canonical("/."), "/");
  EXPECT_EQ(canonical("/..a/...;/.b"), "/..a/...;/.b");
}

TEST(CanonicalPath, MergesSlashesUnlessTold) {
  EXPECT_EQ(canonical("//a//b//"), "/a/b/");
  EXPECT_EQ(canonical("//a//b//", Slashes::keep), "//a//b//");
  EXPECT_EQ(canonical("///"), "/");
  EXPECT_EQ(canonical("/a//../b"), "/b");
  EXPECT_EQ(canonical("/a//../b", Slashes::keep), "/a/b");
}

TEST(CanonicalPath, MatchersSeeNoParameters) {
  EXPECT_EQ(canonical("/a;jsessionid=1/b;x"), "/a;jsessionid=1/b;x");
  EXPECT_EQ(matched("/a;jsessionid=1/b;x"), "/a/b");
  EXPECT_EQ(matched("/admin;x/..;/secret"), "/secret");
  EXPECT_EQ(matched("/;x/admin"), "/admin");
  EXPECT_EQ(matched("/;x/admin", Slashes::keep), "//admin");
  EXPECT_EQ(matched("/a/;x"), "/a/");
  EXPECT_EQ(matched("/%61dmin;"), "/admin");
}

TEST(CanonicalPath, MarksWhatARouteHasToAllow) {
  Arena arena;
  const auto marks = [&](std::string_view path) { return canonical_path(path, Slashes::merge, arena)->marks; };
  EXPECT_TRUE(marks("/a%2fb").encoded_slash);
  EXPECT_TRUE(marks("/a%5Cb").backslash);
  EXPECT_TRUE(marks("/a\\b").backslash);
  EXPECT_TRUE(marks("/a%00").nul);
  const auto none = marks("/a%20b;c/../d");
  EXPECT_FALSE(none.encoded_slash || none.backslash || none.nul);
  EXPECT_EQ(canonical("/pub/..%2fprivate"), "/pub/..%2Fprivate");
}

// What is forwarded must be canonical itself, or a second reader could see another path.
TEST(CanonicalPath, IsAFixedPoint) {
  const std::string alphabet = "/.%2e;aF5c\\";
  std::uint32_t seed = 1;
  for (int round = 0; round < 20000; ++round) {
    std::string path = "/";
    for (int i = 0; i < 12; ++i) {
      seed = seed * 1664525 + 1013904223;
      path += alphabet[(seed >> 16) % alphabet.size()];
    }
    for (const auto slashes : {Slashes::merge, Slashes::keep}) {
      const auto once = canonical(path, slashes);
      if (once == "refused") continue;
      ASSERT_EQ(canonical(once, slashes), once) << path;
      const auto match = matched(path, slashes);
      ASSERT_EQ(match[0], '/') << path;
      ASSERT_EQ(canonical(match, slashes), match) << path;
    }
  }
}

TEST(PercentDecode, DecodesEachEscapeOnce) {
  Arena arena;
  EXPECT_EQ(percent_decode("/a%20b%2541", arena), "/a b%41");
  EXPECT_EQ(percent_decode("%00", arena), std::string_view("\0", 1));
  EXPECT_EQ(percent_decode("%4%zz%", arena), "%4%zz%");
  EXPECT_EQ(percent_decode("", arena), "");
}

}  // namespace
}  // namespace pontage::message
