#include "protocols/message/http_date.h"

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "protocols/wire/ascii.h"

namespace pontage::message {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";

struct Parts {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  std::int64_t second_of_day = 0;
};

// `width` digits at `at`, or -1.
int digits(std::string_view text, std::size_t at, std::size_t width) noexcept {
  int value = 0;
  for (std::size_t i = at; i < at + width; ++i) {
    if (!wire::is_digit(text[i])) return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// 1..12, or 0.
unsigned month_at(std::string_view text, std::size_t at) noexcept {
  for (unsigned month = 0; month < 12; ++month) {
    if (text.substr(at, 3) == kMonths.substr(month * 3, 3)) return month + 1;
  }
  return 0;
}

// "08:49:37" at `at`, in seconds, or -1. Second 60 is a leap second and legal.
std::int64_t time_at(std::string_view text, std::size_t at) noexcept {
  const int hour = digits(text, at, 2);
  const int minute = digits(text, at + 3, 2);
  const int second = digits(text, at + 6, 2);
  if (text[at + 2] != ':' || text[at + 5] != ':') return -1;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return -1;
  return std::int64_t{3600} * hour + 60 * minute + second;
}

bool is_short_day(std::string_view text) noexcept {
  return std::any_of(kDays.begin(), kDays.end(), [&](auto day) { return day.substr(0, 3) == text; });
}

std::optional<std::int64_t> to_seconds(const Parts& parts) noexcept {
  using namespace std::chrono;
  const year_month_day date{year{parts.year}, month{parts.month}, day{parts.day}};
  if (parts.year < 0 || !date.ok() || parts.second_of_day < 0) return std::nullopt;
  return std::int64_t{sys_days{date}.time_since_epoch().count()} * 86400 + parts.second_of_day;
}

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::optional<std::int64_t> parse_fixdate(std::string_view text) noexcept {
  if (text.size() != kHttpDateSize || !is_short_day(text.substr(0, 3)) || text.substr(3, 2) != ", " || text[7] != ' ' ||
      text[11] != ' ' || text[16] != ' ' || text.substr(25) != " GMT") {
    return std::nullopt;
  }
  return to_seconds(
      {digits(text, 12, 4), month_at(text, 8), static_cast<unsigned>(digits(text, 5, 2)), time_at(text, 17)});
}

// "Sun Nov  6 08:49:37 1994"
std::optional<std::int64_t> parse_asctime(std::string_view text) noexcept {
  if (text.size() != 24 || !is_short_day(text.substr(0, 3)) || text[3] != ' ' || text[7] != ' ' || text[10] != ' ' ||
      text[19] != ' ') {
    return std::nullopt;
  }
  const int day = text[8] == ' ' ? digits(text, 9, 1) : digits(text, 8, 2);
  return to_seconds({digits(text, 20, 4), month_at(text, 4), static_cast<unsigned>(day), time_at(text, 11)});
}

// "Sunday, 06-Nov-94 08:49:37 GMT"
std::optional<std::int64_t> parse_rfc850(std::string_view text, std::int64_t now_seconds) noexcept {
  const auto comma = text.find(',');
  if (comma == std::string_view::npos || std::find(kDays.begin(), kDays.end(), text.substr(0, comma)) == kDays.end()) {
    return std::nullopt;
  }
  const auto rest = text.substr(comma);
  if (rest.size() != 24 || rest[1] != ' ' || rest[4] != '-' || rest[8] != '-' || rest[11] != ' ' ||
      rest.substr(20) != " GMT") {
    return std::nullopt;
  }
  const int short_year = digits(rest, 9, 2);
  if (short_year < 0) return std::nullopt;
  using namespace std::chrono;
  const year_month_day today{floor<days>(sys_seconds{seconds{now_seconds}})};
  const int this_year = int{today.year()};
  Parts parts{this_year - this_year % 100 + short_year, month_at(rest, 5), static_cast<unsigned>(digits(rest, 2, 2)),
              time_at(rest, 12)};
  // RFC 9110 5.6.7: what seems more than 50 years ahead is the last year in the past with these digits.
  if (parts.year > this_year + 50) parts.year -= 100;
  return to_seconds(parts);
}

void put(char* to, int value, int width) noexcept {
  for (int i = width - 1; i >= 0; --i, value /= 10) to[i] = static_cast<char>('0' + value % 10);
}

}  // namespace

HttpDate format_http_date(std::int64_t unix_seconds) noexcept {
  using namespace std::chrono;
  // Four-digit years only: the format knows no others, and a file's time may be anything.
  constexpr std::int64_t kYear0 = -62167219200;
  constexpr std::int64_t kYear9999 = 253402300799;
  const sys_seconds time{seconds{std::clamp(unix_seconds, kYear0, kYear9999)}};
  const auto date = floor<days>(time);
  const year_month_day ymd{date};
  const auto second = static_cast<int>((time - date).count());

  HttpDate out{};
  constexpr std::string_view kShape = "Xxx, 00 Xxx 0000 00:00:00 GMT";
  std::copy(kShape.begin(), kShape.end(), out.begin());
  const auto day = kDays[weekday{date}.c_encoding()].substr(0, 3);
  std::copy(day.begin(), day.end(), out.begin());
  put(&out[5], static_cast<int>(unsigned{ymd.day()}), 2);
  const auto month = kMonths.substr((unsigned{ymd.month()} - 1) * 3, 3);
  std::copy(month.begin(), month.end(), out.begin() + 8);
  put(&out[12], int{ymd.year()}, 4);
  put(&out[17], second / 3600, 2);
  put(&out[20], second / 60 % 60, 2);
  put(&out[23], second % 60, 2);
  return out;
}

std::optional<std::int64_t> parse_http_date(std::string_view text, std::int64_t now_seconds) noexcept {
  if (text.size() < 24 || text.size() > 33) return std::nullopt;
  if (text[3] == ',') return parse_fixdate(text);
  if (text[3] == ' ') return parse_asctime(text);
  return parse_rfc850(text, now_seconds);
}

}  // namespace pontage::message
