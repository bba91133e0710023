#include "src/config/scalars.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <vector>

#include "protocols/wire/ascii.h"

namespace pontage::config {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};
constexpr std::array<Unit, 5> kDurations{{{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}};
constexpr std::array<Unit, 5> kSizes{
    {{"B", 1}, {"KiB", 1LL << 10}, {"MiB", 1LL << 20}, {"GiB", 1LL << 30}, {"TiB", 1LL << 40}}};

// The unit that somebody meant who wrote `text`: "k" and "KB" are KiB, "sec" is s.
std::string_view meant_unit(std::string_view text, const auto& units) {
  if (text.empty()) return {};
  for (const auto& unit : units) {
    if (wire::iequals(text, unit.name)) return unit.name;
  }
  for (const auto& unit : units) {
    if (wire::to_lower(text.front()) == wire::to_lower(unit.name.front()) && unit.name != "ms") return unit.name;
  }
  return {};
}

Parsed<std::int64_t> parse_with_unit(std::string_view text, const auto& units, std::string_view example) {
  std::size_t digits = 0;
  while (digits < text.size() && wire::is_digit(text[digits])) ++digits;
  const auto number = text.substr(0, digits);
  const auto unit = text.substr(digits);
  if (number.empty() || unit.starts_with('.'))
    return bad("expected a whole number with a unit, such as " + std::string(example));
  const auto value = parse_integer(number);
  if (!value) return value;
  if (unit.empty() && *value == 0) return 0;
  if (unit.empty()) return bad("the unit is missing: write for example " + std::string(example));
  for (const auto& known : units) {
    if (known.name != unit) continue;
    if (*value > std::numeric_limits<std::int64_t>::max() / known.factor) return bad("the number is too large");
    return *value * known.factor;
  }
  std::string list;
  for (const auto& known : units) list += (list.empty() ? "" : " ") + std::string(known.name);
  const auto meant = meant_unit(unit, units);
  if (meant.empty()) return bad("unknown unit; the units are " + list);
  return bad("unknown unit; did you mean `" + std::string(number) + std::string(meant) + "`? The units are " + list);
}

std::string format_with_unit(std::int64_t value, const auto& units, std::string_view zero) {
  if (value == 0) return std::string(zero);
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    if (value % unit->factor == 0) return std::to_string(value / unit->factor) + std::string(unit->name);
  }
  return std::to_string(value) + std::string(units.front().name);
}

bool is_environment_name(std::string_view name) {
  if (name.empty() || wire::is_digit(name.front())) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return wire::is_alpha(c) || wire::is_digit(c) || c == '_'; });
}

}  // namespace

Parsed<std::int64_t> parse_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto digits = negative ? text.substr(1) : text;
  const bool decimal = !digits.empty() && std::all_of(digits.begin(), digits.end(), wire::is_digit);
  if (!decimal) return bad("expected a decimal whole number");
  if (digits.size() > 1 && digits.front() == '0')
    return bad("a number has no leading zeros here: it is decimal, never octal");
  const auto value = wire::parse_decimal(digits);
  if (!value) return bad("the number is too large");
  const auto magnitude = static_cast<std::int64_t>(*value);
  return negative ? -magnitude : magnitude;
}

Parsed<std::int64_t> parse_duration(std::string_view text) {
  return parse_with_unit(text, kDurations, "10s or 250ms");
}

Parsed<std::int64_t> parse_size(std::string_view text) {
  return parse_with_unit(text, kSizes, "8KiB or 512B");
}

Parsed<std::int64_t> parse_rate(std::string_view text) {
  if (text == "0") return 0;
  if (!text.ends_with("/s")) return bad("expected a size for each second, such as 240B/s or 1KiB/s");
  return parse_with_unit(text.substr(0, text.size() - 2), kSizes, "240B/s or 1KiB/s");
}

Parsed<std::int64_t> parse_percent(std::string_view text) {
  if (!text.ends_with('%')) return bad("expected a percentage, such as 20%");
  const auto value = parse_integer(text.substr(0, text.size() - 1));
  if (!value) return bad("expected a whole percentage, such as 20%");
  return *value;
}

std::optional<bool> parse_boolean(std::string_view text) noexcept {
  if (text == "true" || text == "on" || text == "yes") return true;
  if (text == "false" || text == "off" || text == "no") return false;
  return std::nullopt;
}

std::string format_duration(std::int64_t milliseconds) {
  return format_with_unit(milliseconds, kDurations, "0s");
}

std::string format_size(std::int64_t bytes) {
  return format_with_unit(bytes, kSizes, "0B");
}

Parsed<std::string> expand_environment(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with("$${")) {
      out += "${";
      at += 3;
      continue;
    }
    if (!text.substr(at).starts_with("${")) {
      out += text[at++];
      continue;
    }
    const auto end = text.find('}', at);
    if (end == std::string_view::npos) return bad("`${` has no `}`; a literal `${` is written `$${`");
    const std::string name(text.substr(at + 2, end - at - 2));
    if (!is_environment_name(name))
      return bad("`${...}` needs the name of an environment variable; a literal `${` is written `$${`");
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return bad("the environment variable `" + name + "` is not set");
    out += value;
    at = end + 1;
  }
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (wire::to_lower(a[i - 1]) == wire::to_lower(b[j - 1]) ? 0U : 1U);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

}  // namespace pontage::config
