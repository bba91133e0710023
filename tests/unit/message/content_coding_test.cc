// Which coding a client gets (RFC 9110 12.5.3).
#include "protocols/message/content_coding.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pontage::message {
namespace {

using Coding = ContentCoding;
constexpr Coding kAll[] = {Coding::zstd, Coding::br, Coding::gzip};

Coding choose(const std::vector<std::string>& fields, std::span<const Coding> offered = kAll) {
  Arena arena;
  HeaderList headers(arena);
  headers.add(HeaderId::host, "a");
  for (const auto& field : fields) headers.add("accept-Encoding", field);
  return choose_content_coding(headers, offered);
}

TEST(ContentCodings, GoThereAndBack) {
  for (std::size_t i = 0; i < kContentCodings; ++i) {
    const auto coding = static_cast<Coding>(i);
    EXPECT_EQ(parse_content_coding(to_string(coding)), coding);
  }
  EXPECT_EQ(parse_content_coding("GZip"), Coding::gzip);
  EXPECT_EQ(parse_content_coding("X-gzip"), Coding::gzip);
  for (const auto* name : {"", "deflate", "gzip ", "*", "x-br", "zstandard"}) {
    EXPECT_EQ(parse_content_coding(name), std::nullopt) << name;
  }
}

struct Case {
  const char* field;
  Coding expected;
};

TEST(ContentCodings, AreChosenByWeightThenByTheServersOrder) {
  const Case cases[] = {
      {"", Coding::identity},
      {"gzip", Coding::gzip},
      {"GZIP", Coding::gzip},
      {"x-gzip", Coding::gzip},
      {"gzip, deflate, br, zstd", Coding::zstd},
      {"gzip, deflate, br", Coding::br},
      {"deflate, compress", Coding::identity},
      {"gzip;q=1.0, br;q=0.9", Coding::gzip},
      {"gzip;q=0.001", Coding::gzip},
      {"gzip;q=0.501, br;q=0.5", Coding::gzip},
      {"br;q=0.5, gzip;q=0.5", Coding::br},
      {"zstd;q=0, br;q=0.0, gzip;q=0.000", Coding::identity},
      {"gzip ; q=0.5 ,\tbr\t;\tQ=0.6", Coding::br},
      {",, gzip ,,", Coding::gzip},
      {"gzip;q=0., br", Coding::br},
      {"gzip;q=1.", Coding::gzip},
      {"gzip;q=1.000", Coding::gzip},
  };
  for (const auto& c : cases) EXPECT_EQ(choose({c.field}), c.expected) << c.field;
}

TEST(ContentCodings, StarStandsForWhatIsNotNamed) {
  const Case cases[] = {
      {"*", Coding::zstd},
      {"*;q=0", Coding::identity},
      {"zstd;q=0, *", Coding::br},
      {"gzip, *;q=0", Coding::gzip},
      {"gzip;q=0.5, *;q=0.1", Coding::gzip},
      {"*;q=0.8, zstd;q=0.2, br;q=0.3", Coding::gzip},
      {"gzip;q=0, br;q=0, zstd;q=0, *", Coding::identity},
  };
  for (const auto& c : cases) EXPECT_EQ(choose({c.field}), c.expected) << c.field;
  const Coding gzip[] = {Coding::gzip};
  EXPECT_EQ(choose({"gzip;q=0.5, *"}, gzip), Coding::identity) << "the star means identity as well";
}

TEST(ContentCodings, IdentityIsSentWhenItIsLikedBetterAndWhenNothingElseIsLeft) {
  const Case cases[] = {
      {"identity", Coding::identity},
      {"identity, gzip", Coding::gzip},
      {"identity;q=1, gzip;q=0.5", Coding::identity},
      {"identity;q=0.5, gzip;q=0.5", Coding::gzip},
      {"identity;q=0.2, gzip;q=0.5", Coding::gzip},
      {"identity;q=0", Coding::identity},
      {"identity;q=0, gzip", Coding::gzip},
      {"identity;q=0, *;q=0", Coding::identity},
      {"identity;q=0, gzip;q=0.1", Coding::gzip},
  };
  for (const auto& c : cases) EXPECT_EQ(choose({c.field}), c.expected) << c.field;
}

TEST(ContentCodings, MalformedElementsCountAsAbsent) {
  for (const auto* element : {"gzip;q=2",     "gzip;q=1.1",     "gzip;q=1.001", "gzip;q=0.1234", "gzip;q=-1",
                              "gzip;q=",      "gzip;q",         "gzip;",        "gzip;q=.5",     "gzip;q=0,5;",
                              "gzip;level=9", "gzip;q=0.5;x=y", "gzip;q=0.5a",  "gzip;q = 1",    "gz ip",
                              "gzip q=1",     "\"gzip\"",       ";q=1",         "gzip;q=00",     "gzip;q=1e0",
                              "gzip;q=0x1",   "gzip;q=\"1\""}) {
    EXPECT_EQ(choose({element}), Coding::identity) << element;
    EXPECT_EQ(choose({std::string(element) + ", br;q=0.1"}), Coding::br) << element;
  }
}

TEST(ContentCodings, SeveralFieldsAreOneListAndTheFirstMentionCounts) {
  EXPECT_EQ(choose({"gzip;q=0.4", "br;q=0.5"}), Coding::br);
  EXPECT_EQ(choose({"*;q=0.1", "gzip;q=0.2"}), Coding::gzip);
  EXPECT_EQ(choose({"gzip;q=0", "gzip"}), Coding::identity);
  EXPECT_EQ(choose({"gzip, gzip;q=0"}), Coding::gzip);
  EXPECT_EQ(choose({"", "gzip"}), Coding::gzip);
}

TEST(ContentCodings, NothingIsChosenThatWasNotAskedForOrNotOffered) {
  EXPECT_EQ(choose({}), Coding::identity);
  EXPECT_EQ(choose({"gzip, br"}, {}), Coding::identity);
  const Coding br[] = {Coding::br};
  EXPECT_EQ(choose({"gzip, zstd"}, br), Coding::identity);
}

TEST(ContentCodings, ALongFieldOfRubbishIsReadOnce) {
  std::string field;
  for (int i = 0; i < 5000; ++i) field += "x" + std::to_string(i) + ";q=0.5,";
  EXPECT_EQ(choose({field}), Coding::identity);
  EXPECT_EQ(choose({field + "gzip;q=0.1"}), Coding::gzip);
}

}  // namespace
}  // namespace pontage::message
