#include "src/http/range.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "protocols/wire/ascii.h"
#include "protocols/wire/sink.h"

namespace pontage::http {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

// Digits only, at least one; stays at the largest number rather than wrap.
std::optional<std::uint64_t> parse_position(std::string_view digits) noexcept {
  if (digits.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : digits) {
    if (!wire::is_digit(c)) return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    value = value > (kMost - digit) / 10 ? kMost : value * 10 + digit;
  }
  return value;
}

ByteRange suffix_range(std::uint64_t length, std::uint64_t size) noexcept {
  if (length == 0) return {RangeKind::unsatisfiable};
  if (size == 0) return {};
  const std::uint64_t count = std::min(length, size);
  return {RangeKind::part, size - count, count};
}

}  // namespace

ByteRange parse_range(std::string_view value, std::uint64_t size) noexcept {
  constexpr std::string_view kUnit = "bytes=";
  if (value.size() < kUnit.size() || !wire::iequals(value.substr(0, kUnit.size()), kUnit)) return {};
  value.remove_prefix(kUnit.size());
  const std::size_t dash = value.find('-');
  if (dash == std::string_view::npos) return {};
  const std::string_view from = value.substr(0, dash);
  const std::string_view to = value.substr(dash + 1);
  if (from.empty()) {
    const auto length = parse_position(to);
    return length ? suffix_range(*length, size) : ByteRange{};
  }
  const auto first = parse_position(from);
  if (!first) return {};
  std::uint64_t last = kMost;
  if (!to.empty()) {
    const auto given = parse_position(to);
    if (!given || *given < *first) return {};
    last = *given;
  }
  if (*first >= size) return {RangeKind::unsatisfiable};
  return {RangeKind::part, *first, std::min(last, size - 1) - *first + 1};
}

ByteRange requested_range(const message::HeaderList& headers, std::uint64_t size) noexcept {
  const message::Header* field = headers.find(message::HeaderId::range);
  if (field == nullptr || headers.count(message::HeaderId::range) > 1) return {};
  return parse_range(field->value, size);
}

std::string_view content_range(const ByteRange& range, std::uint64_t size, ContentRangeRoom& room) noexcept {
  wire::Sink sink(room);
  sink.append("bytes ");
  if (range.kind == RangeKind::part) {
    sink.append_decimal(range.first);
    sink.append('-');
    sink.append_decimal(range.first + range.count - 1);
  } else {
    sink.append('*');
  }
  sink.append('/');
  sink.append_decimal(size);
  return sink.view();
}

}  // namespace pontage::http
