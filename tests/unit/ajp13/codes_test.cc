#include "protocols/ajp13/codes.h"

#include <array>
#include <string_view>

#include <gtest/gtest.h>

#include "protocols/message/method.h"

namespace pontage::ajp13 {
namespace {

using message::HeaderId;

TEST(Codes, A2PacketSizesAreLiftedRoundedAndCapped) {
  EXPECT_EQ(fit_packet_size(0), 8192u);
  EXPECT_EQ(fit_packet_size(8192), 8192u);
  EXPECT_EQ(fit_packet_size(8193), 9216u);
  EXPECT_EQ(fit_packet_size(65535), 65536u);
  EXPECT_EQ(fit_packet_size(1 << 20), 65536u);
}

TEST(Codes, A2DataRoomOfTheDefaultPacket) {
  EXPECT_EQ(request_data_room(8192), 8186u);
  EXPECT_EQ(response_data_room(8192), 8184u);
}

TEST(Codes, A5MethodValuesAreTheWireCodes) {
  EXPECT_EQ(static_cast<int>(message::Method::options), 1);
  EXPECT_EQ(static_cast<int>(message::Method::get), 2);
  EXPECT_EQ(static_cast<int>(message::Method::delete_), 6);
  EXPECT_EQ(static_cast<int>(message::Method::mkactivity), kLastMethodCode);
}

TEST(Codes, A6RequestHeadersHaveTheirCodes) {
  constexpr std::array<std::string_view, 14> kNames{
      "accept",     "accept-charset", "accept-encoding", "accept-language", "authorization",
      "connection", "content-type",   "content-length",  "cookie",          "cookie2",
      "host",       "pragma",         "referer",         "user-agent"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const auto id = message::lookup_header(kNames[i]);
    EXPECT_EQ(request_header_code(id), 0xA001 + i) << kNames[i];
    EXPECT_EQ(request_header_of(static_cast<std::uint16_t>(0xA001 + i)), id) << kNames[i];
  }
}

TEST(Codes, A7ResponseHeadersHaveTheirCodes) {
  constexpr std::array<std::string_view, 11> kNames{
      "Content-Type", "Content-Language", "Content-Length", "Date",   "Last-Modified",   "Location",
      "Set-Cookie",   "Set-Cookie2",      "Servlet-Engine", "Status", "WWW-Authenticate"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const auto id = message::lookup_header(kNames[i]);
    EXPECT_EQ(response_header_code(id), 0xA001 + i) << kNames[i];
    EXPECT_EQ(response_header_of(static_cast<std::uint16_t>(0xA001 + i)), id) << kNames[i];
  }
}

TEST(Codes, OtherHeadersAndCodesHaveNone) {
  EXPECT_EQ(request_header_code(HeaderId::unknown), 0);
  EXPECT_EQ(request_header_code(HeaderId::set_cookie), 0);
  EXPECT_EQ(response_header_code(HeaderId::cookie), 0);
  for (const unsigned code : {0u, 1u, 0x9fffu, 0xA000u, 0xA00Fu, 0xA0FFu, 0xFFFFu}) {
    EXPECT_EQ(request_header_of(static_cast<std::uint16_t>(code)), HeaderId::unknown) << code;
  }
  EXPECT_EQ(response_header_of(0xA00C), HeaderId::unknown);
}

}  // namespace
}  // namespace pontage::ajp13
