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

// Between two parts of a multipart body stand about so many bytes.
constexpr std::uint64_t kPartHead = 80;

std::optional<ByteRange> suffix_range(std::string_view digits, std::uint64_t size) noexcept {
  const auto length = parse_position(digits);
  if (!length) return std::nullopt;
  if (*length == 0) return ByteRange{RangeKind::unsatisfiable};
  if (size == 0) return ByteRange{RangeKind::whole};
  const std::uint64_t count = std::min(*length, size);
  return ByteRange{RangeKind::part, size - count, count};
}

// "0-9", "5-", "-3"; nullopt: malformed.
std::optional<ByteRange> parse_one(std::string_view spec, std::uint64_t size) noexcept {
  const std::size_t dash = spec.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view from = spec.substr(0, dash);
  const std::string_view to = spec.substr(dash + 1);
  if (from.empty()) return suffix_range(to, size);
  const auto first = parse_position(from);
  if (!first) return std::nullopt;
  std::uint64_t last = kMost;
  if (!to.empty()) {
    const auto given = parse_position(to);
    if (!given || *given < *first) return std::nullopt;
    last = *given;
  }
  if (*first >= size) return ByteRange{RangeKind::unsatisfiable};
  return ByteRange{RangeKind::part, *first, std::min(last, size - 1) - *first + 1};
}

// No overflow: both ranges lie within a size.
bool near(const ByteRange& a, const ByteRange& b) noexcept {
  const ByteRange& left = a.first <= b.first ? a : b;
  const ByteRange& right = a.first <= b.first ? b : a;
  return right.first <= left.first + left.count || right.first - left.first - left.count < kPartHead;
}

// Takes in what `range` touches, and what the two together touch then.
void add(RangeSet& set, ByteRange range) noexcept {
  std::size_t place = set.count;
  for (std::size_t i = 0; i < set.count;) {
    if (i == place || !near(set.ranges[i], range)) {
      ++i;
      continue;
    }
    const ByteRange other = set.ranges[i];
    const std::uint64_t first = std::min(other.first, range.first);
    const std::uint64_t end = std::max(other.first + other.count, range.first + range.count);
    range = {RangeKind::part, first, end - first};
    if (place == set.count) {
      place = i;
    } else {
      // The later of the two places closes.
      const std::size_t gone = std::max(place, i);
      place = std::min(place, i);
      std::move(set.ranges.begin() + static_cast<std::ptrdiff_t>(gone) + 1,
                set.ranges.begin() + static_cast<std::ptrdiff_t>(set.count),
                set.ranges.begin() + static_cast<std::ptrdiff_t>(gone));
      --set.count;
    }
    i = 0;
  }
  if (place == set.count) ++set.count;
  set.ranges[place] = range;
}

}  // namespace

RangeSet parse_ranges(std::string_view value, std::uint64_t size, std::size_t most) noexcept {
  constexpr std::string_view kUnit = "bytes=";
  RangeSet set;
  most = std::min(most, RangeSet::kMost);
  if (value.size() < kUnit.size() || !wire::iequals(value.substr(0, kUnit.size()), kUnit)) return {};
  value.remove_prefix(kUnit.size());
  if (value.starts_with(' ') || value.starts_with('\t')) return {};  // space stands around commas alone
  for (std::size_t asked = 0;;) {
    const std::size_t comma = value.find(',');
    const std::string_view spec = wire::trim_ows(value.substr(0, comma));
    if (!spec.empty()) {
      const auto range = parse_one(spec, size);
      if (!range || range->kind == RangeKind::whole || ++asked > most) return {};
      if (range->kind == RangeKind::part) add(set, *range);
      set.kind = RangeKind::part;
    }
    if (comma == std::string_view::npos) break;
    value.remove_prefix(comma + 1);
  }
  if (set.kind == RangeKind::part && set.count == 0) set.kind = RangeKind::unsatisfiable;
  return set;
}

RangeSet requested_ranges(const message::HeaderList& headers, std::uint64_t size, std::size_t most) noexcept {
  const message::Header* field = headers.find(message::HeaderId::range);
  if (field == nullptr || headers.count(message::HeaderId::range) > 1) return {};
  return parse_ranges(field->value, size, most);
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
