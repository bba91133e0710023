// The texts of single values: numbers, durations, sizes, rates, percents, booleans and ${ENV}. yaml-cpp's own
// conversions are not used: they read `010` as 8 and a quoted "on" as true. Called by the reader. Pure but for the
// environment; control thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "protocols/wire/expected.h"

namespace pontage::config {

// The error is one sentence fit for a message; it quotes nothing of the value.
template <class T>
using Parsed = wire::Expected<T, std::string>;
// `return bad("...");`
inline wire::Unexpected<std::string> bad(std::string why) {
  return wire::Unexpected<std::string>(std::move(why));
}

// Decimal digits with an optional minus; no leading zeros, no other base.
Parsed<std::int64_t> parse_integer(std::string_view text);
// Milliseconds from `250ms 10s 2m 1h 1d`; a bare `0` needs no unit.
Parsed<std::int64_t> parse_duration(std::string_view text);
// Bytes from `512B 8KiB 10MiB 1GiB 1TiB`; a bare `0` needs no unit.
Parsed<std::int64_t> parse_size(std::string_view text);
// Bytes a second from a size with `/s`; a bare `0` needs no unit.
Parsed<std::int64_t> parse_rate(std::string_view text);
// `20%`.
Parsed<std::int64_t> parse_percent(std::string_view text);
// true false on off yes no, in lower case; the caller knows whether it was quoted.
std::optional<bool> parse_boolean(std::string_view text) noexcept;

// The shortest text that the parser above reads back as the same value, e.g. "1GiB", "2m".
std::string format_duration(std::int64_t milliseconds);
std::string format_size(std::int64_t bytes);

// Replaces every `${NAME}` by the environment's value; `$${` stands for a literal `${`. Errors: an unset name, a name
// that is none, a missing `}`.
Parsed<std::string> expand_environment(std::string_view text);

// Levenshtein distance of two short texts, case ignored.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace pontage::config
