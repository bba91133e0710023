// HTTP dates (RFC 9110 5.6.7). Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pontage::message {

inline constexpr std::size_t kHttpDateSize = 29;
using HttpDate = std::array<char, kHttpDateSize>;

// "Sun, 06 Nov 1994 08:49:37 GMT" of seconds since 1970.
HttpDate format_http_date(std::int64_t unix_seconds) noexcept;

// Reads all three formats (IMF-fixdate, RFC 850, asctime); a two-digit year more than 50 years in the future of
// `now_seconds` is in the past century. nullopt when it is no date.
std::optional<std::int64_t> parse_http_date(std::string_view text, std::int64_t now_seconds) noexcept;

}  // namespace pontage::message
