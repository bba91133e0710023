#include <array>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "protocols/wire/cursor.h"
#include "protocols/wire/decode_error.h"
#include "protocols/wire/expected.h"
#include "protocols/wire/sink.h"

namespace pontage::wire {
namespace {

TEST(Cursor, ReadsNothingAndStaysWhenTooLittleIsLeft) {
  Cursor cursor(std::string_view("\x12\x34\x56", 3));
  EXPECT_EQ(cursor.peek_u16be(), 0x1234);
  EXPECT_EQ(cursor.u16be(), 0x1234);
  EXPECT_FALSE(cursor.u16be());
  EXPECT_FALSE(cursor.bytes(2));
  EXPECT_EQ(cursor.remaining(), 1U);
  EXPECT_EQ(cursor.u8(), 0x56);
  EXPECT_FALSE(cursor.u8());
  EXPECT_EQ(cursor.bytes(0), "");
  EXPECT_EQ(cursor.position(), 3U);
}

TEST(Sink, WritesNumbersInTheirBases) {
  std::array<char, 64> room{};
  Sink sink(room);
  sink.append_decimal(18446744073709551615ULL);
  sink.append(' ');
  sink.append_hex(0x1a2bU);
  sink.append_u16be(0x4142);
  EXPECT_EQ(sink.view(), "18446744073709551615 1a2bAB");
  sink.patch_u16be(0, 0x4344);
  sink.truncate(2);
  EXPECT_EQ(sink.view(), "CD");
  EXPECT_FALSE(sink.overflowed());
}

TEST(Sink, NeverWritesPastItsRoomAndSaysSo) {
  std::array<char, 4> room{'a', 'b', 'c', 'd'};
  Sink sink(std::span<char>(room.data(), 3));
  sink.append("xy");
  sink.append("zz");
  EXPECT_TRUE(sink.overflowed());
  sink.append('q');
  EXPECT_EQ(room[3], 'd');
}

TEST(Expected, HoldsAValueOrAnError) {
  const Expected<int, DecodeError> good(7);
  const Expected<int, DecodeError> bad = Unexpected(DecodeError::bad_magic);
  EXPECT_TRUE(good);
  EXPECT_EQ(*good, 7);
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.error(), DecodeError::bad_magic);
  EXPECT_TRUE((Expected<void, DecodeError>()));
}

TEST(DecodeErrors, HaveNamesOfTheirOwnAndKnowTheLimits) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(DecodeError::truncated); ++i) {
    const auto name = to_string(static_cast<DecodeError>(i));
    EXPECT_FALSE(name.empty());
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_TRUE(is_limit(DecodeError::request_line_too_long));
  EXPECT_TRUE(is_limit(DecodeError::packet_too_long));
  EXPECT_FALSE(is_limit(DecodeError::truncated));
  EXPECT_FALSE(is_limit(DecodeError::unexpected_message));
}

}  // namespace
}  // namespace pontage::wire
