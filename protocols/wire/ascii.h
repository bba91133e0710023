// Character classes and case folding for the ASCII-only grammar of HTTP and its relatives
// (RFC 9110 5.6.2 token, RFC 5234 VCHAR). No locale. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pontage::wire {

constexpr char to_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}
constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}
constexpr bool is_alpha(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
// -1 when `c` is no hexadecimal digit.
constexpr int hex_value(char c) noexcept {
  if (is_digit(c)) return c - '0';
  const char low = to_lower(c);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

namespace detail {
constexpr std::array<bool, 256> make_token_table() {
  std::array<bool, 256> table{};
  for (unsigned c = 0; c < 128; ++c) {
    const char ch = static_cast<char>(c);
    table[c] = is_digit(ch) || is_alpha(ch) || std::string_view("!#$%&'*+-.^_`|~").find(ch) != std::string_view::npos;
  }
  return table;
}
inline constexpr std::array<bool, 256> kToken = make_token_table();
}  // namespace detail

constexpr bool is_token_char(char c) noexcept {
  return detail::kToken[static_cast<unsigned char>(c)];
}
constexpr bool is_token(std::string_view text) noexcept {
  if (text.empty()) return false;
  for (const char c : text) {
    if (!is_token_char(c)) return false;
  }
  return true;
}
// A field value may hold anything but CR, LF, NUL and the other controls; HTAB is legal (RFC 9110 5.5).
constexpr bool is_field_value_char(char c) noexcept {
  const auto u = static_cast<unsigned char>(c);
  return (u >= 0x20 && u != 0x7f) || c == '\t';
}
constexpr bool is_field_value(std::string_view text) noexcept {
  for (const char c : text) {
    if (!is_field_value_char(c)) return false;
  }
  return true;
}

constexpr bool iequals(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (to_lower(a[i]) != to_lower(b[i])) return false;
  }
  return true;
}

// Without leading and trailing spaces and tabs (RFC 9110 OWS).
constexpr std::string_view trim_ows(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Digits only, at most 2^63-1 (RFC 9110 8.6; ADAPTERS X9). nullopt for anything else.
constexpr std::optional<std::uint64_t> parse_decimal(std::string_view text) noexcept {
  if (text.empty() || text.size() > 19) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (value > 0x7fffffffffffffffULL) return std::nullopt;
  return value;
}

// Calls `each(element)` for every non-empty, trimmed element of a comma-separated list (RFC 9110 5.6.1).
// Quoted strings are kept whole.
template <class F>
constexpr void for_each_element(std::string_view list, F&& each) {
  std::size_t start = 0;
  bool quoted = false;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size()) {
      if (list[i] == '"') quoted = !quoted;
      if (quoted && list[i] == '\\') {
        ++i;
        continue;
      }
      if (quoted || list[i] != ',') continue;
    }
    const std::size_t end = i < list.size() ? i : list.size();
    const auto element = trim_ows(list.substr(start, end - start));
    if (!element.empty()) each(element);
    start = i + 1;
  }
}

// True when the comma-separated `list` holds `token`, ignoring case.
constexpr bool list_has(std::string_view list, std::string_view token) noexcept {
  bool found = false;
  for_each_element(list, [&](std::string_view element) { found = found || iequals(element, token); });
  return found;
}

}  // namespace pontage::wire
