#include "protocols/message/header.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "protocols/wire/ascii.h"

namespace pontage::message {
namespace {

constexpr int kCount = static_cast<int>(HeaderId::count_);

TEST(HeaderNames, AreFoundInAnyCase) {
  std::set<std::string_view> names;
  for (int i = 1; i < kCount; ++i) {
    const auto id = static_cast<HeaderId>(i);
    std::string name(header_name(id));
    EXPECT_TRUE(wire::is_token(name));
    EXPECT_TRUE(names.insert(header_name(id)).second) << name;
    EXPECT_EQ(lookup_header(name), id) << name;
    std::transform(name.begin(), name.end(), name.begin(), wire::to_lower);
    EXPECT_EQ(lookup_header(name), id) << name;
    std::transform(name.begin(), name.end(), name.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
    EXPECT_EQ(lookup_header(name), id) << name;
  }
}

// Case folding must not make "Content\rType" or "x@forwarded" equal to a known name.
TEST(HeaderNames, MatchByEveryByteExactlyButCase) {
  for (int i = 1; i < kCount; ++i) {
    const auto id = static_cast<HeaderId>(i);
    const std::string name(header_name(id));
    for (std::size_t at = 0; at < name.size(); ++at) {
      for (int c = 0; c < 256; ++c) {
        std::string other = name;
        other[at] = static_cast<char>(c);
        EXPECT_EQ(lookup_header(other) == id, wire::iequals(other, name)) << name << " at " << at << " with " << c;
      }
    }
    EXPECT_NE(lookup_header(name + "x"), id);
    EXPECT_NE(lookup_header(name.substr(1)), id);
  }
}

TEST(HeaderNames, UnknownOnesHaveNoId) {
  for (const auto* name : {"", "X-Custom", "1", "-", "Content_Type", "X_Forwarded_For"}) {
    EXPECT_EQ(lookup_header(name), HeaderId::unknown) << name;
  }
  EXPECT_EQ(lookup_header(std::string(5000, 'a')), HeaderId::unknown);
  EXPECT_EQ(header_name(HeaderId::unknown), "");
}

TEST(HeaderList, KeepsOrderAndDuplicatesWhileItGrows) {
  Arena arena;
  HeaderList list(arena);
  for (int i = 0; i < 100; ++i) list.add(i % 2 ? "Via" : "X-N", arena.copy(std::to_string(i)));
  ASSERT_EQ(list.size(), 100U);
  int i = 0;
  for (const auto& h : list) EXPECT_EQ(h.value, std::to_string(i++));
  EXPECT_EQ(list.count(HeaderId::via), 50U);
  EXPECT_EQ(list.value(HeaderId::via), "1");
  EXPECT_EQ(list.find("x-n")->value, "0");
  EXPECT_EQ(list.find("x-m"), nullptr);
}

TEST(HeaderList, RemovesByIdAndKeepsTheRestInOrder) {
  Arena arena;
  HeaderList list(arena);
  list.add("A", "1");
  list.add(HeaderId::te, "2");
  list.add("b", "3");
  list.add("TE", "4");
  list.remove(HeaderId::te);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list.begin()[0].value, "1");
  EXPECT_EQ(list.begin()[1].value, "3");
}

TEST(HopByHop, IsWhatOneConnectionOwns) {
  for (const auto* name :
       {"Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade"}) {
    EXPECT_TRUE(is_hop_by_hop(lookup_header(name))) << name;
  }
  EXPECT_FALSE(is_hop_by_hop(HeaderId::content_length));
  EXPECT_FALSE(is_hop_by_hop(HeaderId::unknown));
}

}  // namespace
}  // namespace pontage::message
