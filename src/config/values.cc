#include "src/config/values.h"

#include <algorithm>

namespace pontage::config {
namespace {

std::string list_of(const std::vector<std::string_view>& choices) {
  std::string out;
  for (const auto& choice : choices) out += (out.empty() ? "`" : ", `") + std::string(choice) + "`";
  return out;
}

Parsed<std::int64_t> parse_choice(const Key& key, std::string_view text) {
  const auto found = std::find(key.choices.begin(), key.choices.end(), text);
  if (found != key.choices.end()) return static_cast<std::int64_t>(found - key.choices.begin());
  for (const auto& choice : key.choices) {
    if (text.size() <= 64 && edit_distance(text, choice) <= choice.size() / 3) {
      return bad("did you mean `" + std::string(choice) + "`? Expected one of " + list_of(key.choices));
    }
  }
  return bad("expected one of " + list_of(key.choices));
}

Parsed<std::int64_t> parse_number(const Key& key, std::string_view text, Quoting quoting) {
  switch (key.type) {
    case Type::boolean: {
      const auto value = quoting == Quoting::plain ? parse_boolean(text) : std::nullopt;
      if (!value) return bad("expected true or false, unquoted");
      return *value ? 1 : 0;
    }
    case Type::integer: {
      auto value = parse_integer(text);
      if (!value && !key.choices.empty()) return bad(value.error() + ", or " + list_of(key.choices));
      return value;
    }
    case Type::size: return parse_size(text);
    case Type::duration: return parse_duration(text);
    case Type::rate: return parse_rate(text);
    case Type::percent: return parse_percent(text);
    case Type::choice: return parse_choice(key, text);
    case Type::text:
    case Type::secret:
    case Type::texts:
    case Type::matches:
    case Type::fields:
    case Type::group:
    case Type::records:
    case Type::record_map: break;
  }
  return bad("expected " + std::string(describe(key.type)));
}

}  // namespace

Parsed<Value> parse_value(const Key& key, std::string_view text, Quoting quoting) {
  Value value;
  if (key.type == Type::text || key.type == Type::secret) {
    value.text = std::string(text);
    return value;
  }
  const bool word =
      key.type == Type::integer && std::find(key.choices.begin(), key.choices.end(), text) != key.choices.end();
  if (word) return value;
  const auto number = parse_number(key, text, quoting);
  if (!number) return wire::Unexpected(number.error());
  if (key.type != Type::choice && (*number < key.bounds.min || *number > key.bounds.max)) {
    const auto least = format_number(key.type, key.bounds.min);
    if (key.bounds.max == INT64_MAX) return bad("must be at least " + least);
    return bad("must be from " + least + " to " + format_number(key.type, key.bounds.max));
  }
  value.number = *number;
  return value;
}

std::string_view describe(Type type) noexcept {
  switch (type) {
    case Type::boolean: return "true or false";
    case Type::integer: return "a whole number";
    case Type::size: return "a size such as 8KiB";
    case Type::duration: return "a duration such as 10s";
    case Type::rate: return "a rate such as 240B/s";
    case Type::percent: return "a percentage such as 20%";
    case Type::text:
    case Type::secret: return "a text";
    case Type::choice: return "a word";
    case Type::texts: return "a text or a list of texts";
    case Type::matches: return "a map of names to values, or a list of names";
    case Type::fields: return "a map of field names to values";
    case Type::group: return "a map of keys";
    case Type::records: return "a list";
    case Type::record_map: return "a map of names";
  }
  return {};
}

std::string format_number(Type type, std::int64_t number) {
  if (type == Type::duration) return format_duration(number);
  if (type == Type::size) return format_size(number);
  if (type == Type::rate) return format_size(number) + "/s";
  if (type == Type::percent) return std::to_string(number) + "%";
  return std::to_string(number);
}

}  // namespace pontage::config
