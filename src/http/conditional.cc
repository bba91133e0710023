#include "src/http/conditional.h"

#include <optional>

#include "protocols/message/http_date.h"
#include "protocols/wire/ascii.h"

namespace pontage::http {
namespace {

using message::Header;
using message::HeaderId;
using message::HeaderList;

enum class Comparison : std::uint8_t { strong, weak };

bool is_weak(std::string_view tag) noexcept {
  return tag.starts_with("W/");
}
std::string_view opaque(std::string_view tag) noexcept {
  return is_weak(tag) ? tag.substr(2) : tag;
}

bool matches(std::string_view a, std::string_view b, Comparison how) noexcept {
  if (how == Comparison::strong && (is_weak(a) || is_weak(b))) return false;
  return opaque(a) == opaque(b);
}

// Takes the next entity-tag from a list, commas and spaces before it included; empty at the end and where the list is
// malformed. A backslash in a tag is a character like any other (RFC 9110 8.8.3).
std::string_view next_tag(std::string_view& list) noexcept {
  const std::size_t start = list.find_first_not_of(", \t");
  if (start == std::string_view::npos) return {};
  list.remove_prefix(start);
  const std::size_t quote = is_weak(list) ? 2 : 0;
  if (quote >= list.size() || list[quote] != '"') return {};
  const std::size_t end = list.find('"', quote + 1);
  if (end == std::string_view::npos) return {};
  const std::string_view tag = list.substr(0, end + 1);
  list.remove_prefix(end + 1);
  return tag;
}

bool list_matches(std::string_view list, std::string_view etag, Comparison how) noexcept {
  if (list == etag && !etag.empty()) return how == Comparison::weak || !is_weak(etag);  // as clients repeat it
  if (wire::trim_ows(list) == "*") return true;
  if (etag.empty()) return false;
  for (std::string_view tag = next_tag(list); !tag.empty(); tag = next_tag(list)) {
    if (matches(tag, etag, how)) return true;
  }
  return false;
}

// The first field of each kind, and how often it stands there.
struct Seen {
  const Header* field = nullptr;
  unsigned count = 0;
  void note(const Header& h) noexcept {
    if (count++ == 0) field = &h;
  }
};
struct Conditions {
  Seen match, none_match, modified_since, unmodified_since;
  bool any() const noexcept {
    return match.count + none_match.count + modified_since.count + unmodified_since.count != 0;
  }
};

Conditions collect(const HeaderList& headers) noexcept {
  Conditions found;
  for (const Header& h : headers) {
    if (h.id == HeaderId::if_none_match) found.none_match.note(h);
    if (h.id == HeaderId::if_modified_since) found.modified_since.note(h);
    if (h.id == HeaderId::if_match) found.match.note(h);
    if (h.id == HeaderId::if_unmodified_since) found.unmodified_since.note(h);
  }
  return found;
}

bool any_field_matches(const HeaderList& headers, HeaderId id, std::string_view etag, Comparison how) noexcept {
  for (const Header& h : headers) {
    if (h.id == id && list_matches(h.value, etag, how)) return true;
  }
  return false;
}

// The date of a field that counts: it stands there once, is a date, and there is something to compare it with.
std::optional<std::int64_t> usable_date(const Seen& seen, const Validators& current, std::int64_t now) noexcept {
  if (seen.count != 1 || current.last_modified.empty()) return std::nullopt;
  if (seen.field->value == current.last_modified) return current.modified_seconds;  // as clients repeat it
  return message::parse_http_date(seen.field->value, now);
}

}  // namespace

Condition evaluate_conditions(const HeaderList& headers, message::Method method, const Validators& current,
                              std::int64_t now_seconds) noexcept {
  const Conditions found = collect(headers);
  if (!found.any()) return Condition::proceed;
  if (found.match.count != 0) {
    if (!any_field_matches(headers, HeaderId::if_match, current.etag, Comparison::strong)) return Condition::failed;
  } else if (const auto date = usable_date(found.unmodified_since, current, now_seconds)) {
    if (current.modified_seconds > *date) return Condition::failed;
  }
  const bool reading = method == message::Method::get || method == message::Method::head;
  if (found.none_match.count != 0) {
    if (any_field_matches(headers, HeaderId::if_none_match, current.etag, Comparison::weak)) {
      return reading ? Condition::not_modified : Condition::failed;
    }
  } else if (reading) {
    const auto date = usable_date(found.modified_since, current, now_seconds);
    if (date && current.modified_seconds <= *date) return Condition::not_modified;
  }
  return Condition::proceed;
}

RangeUse evaluate_if_range(const HeaderList& headers, const Validators& current, std::int64_t now_seconds) noexcept {
  const Header* field = headers.find(HeaderId::if_range);
  if (field == nullptr) return RangeUse::honour;
  if (headers.count(HeaderId::if_range) > 1) return RangeUse::ignore;
  const std::string_view value = field->value;
  if (value.starts_with('"') || is_weak(value)) {
    return !current.etag.empty() && matches(value, current.etag, Comparison::strong) ? RangeUse::honour
                                                                                     : RangeUse::ignore;
  }
  // A date is a strong validator only when the second it names is over (RFC 9110 8.8.2.2), and must match exactly.
  const bool same = !current.last_modified.empty() && value == current.last_modified;
  return same && now_seconds > current.modified_seconds ? RangeUse::honour : RangeUse::ignore;
}

}  // namespace pontage::http
