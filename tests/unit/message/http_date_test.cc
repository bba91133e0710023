#include "protocols/message/http_date.h"

#include <string>

#include <gtest/gtest.h>

namespace pontage::message {
namespace {

constexpr std::int64_t kExample = 784111777;  // RFC 9110 5.6.7's own
constexpr std::int64_t kNow = 1764547200;     // 2025-12-01

std::string format(std::int64_t seconds) {
  const auto date = format_http_date(seconds);
  return {date.data(), date.size()};
}

TEST(HttpDates, AreWrittenInTheFixedForm) {
  EXPECT_EQ(format(kExample), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(format(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(format(951868799), "Tue, 29 Feb 2000 23:59:59 GMT");
  EXPECT_EQ(format(-1), "Wed, 31 Dec 1969 23:59:59 GMT");
  EXPECT_EQ(format(INT64_MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(format(INT64_MIN), "Sat, 01 Jan 0000 00:00:00 GMT");
}

TEST(HttpDates, AreReadInAllThreeForms) {
  for (const auto* text :
       {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"}) {
    EXPECT_EQ(parse_http_date(text, kNow), kExample) << text;
  }
  EXPECT_EQ(parse_http_date("Wednesday, 16-Nov-94 08:49:37 GMT", kNow), kExample + 10 * 86400);
  EXPECT_EQ(parse_http_date("Wed Nov 16 08:49:37 1994", kNow), kExample + 10 * 86400);
}

TEST(HttpDates, ComeBackAsTheyWereWritten) {
  for (std::int64_t t = -3000000000; t < 10000000000; t += 7654321) EXPECT_EQ(parse_http_date(format(t), kNow), t);
}

TEST(HttpDates, TwoDigitYearsFarAheadArePast) {
  EXPECT_EQ(*parse_http_date("Tuesday, 01-Jan-30 00:00:00 GMT", kNow), 1893456000);
  EXPECT_LT(*parse_http_date("Tuesday, 01-Jan-76 00:00:00 GMT", kNow), kNow);
  EXPECT_GT(*parse_http_date("Tuesday, 01-Jan-75 00:00:00 GMT", kNow), kNow);
}

TEST(HttpDates, EverythingElseIsNone) {
  const std::string good = "Sun, 06 Nov 1994 08:49:37 GMT";
  for (std::size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(parse_http_date(good.substr(0, n), kNow)) << n;
  for (const auto* text :
       {"Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
        "Xyz, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov -994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08-49-37 GMT", "Someday, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 CET",
        "Sun Nov  6 08:49:37 19x4", "Sun, 06 Nov 1994 08:49:37 GMT ", "                              "}) {
    EXPECT_FALSE(parse_http_date(text, kNow)) << text;
  }
}

}  // namespace
}  // namespace pontage::message
