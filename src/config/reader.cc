#include "src/config/reader.h"

#include <algorithm>
#include <iterator>

#include "src/config/document.h"
#include "src/config/secrets.h"

namespace pontage::config {
namespace {

// "routes[]" reads "routes" in a sentence.
std::string readable(std::string_view prefix) {
  std::string out;
  for (const char c : prefix) {
    if (std::string_view("[]{}").find(c) == std::string_view::npos) out += c;
  }
  return out;
}

// The place of a value: of itself for scalars; of its key for the rest, whose mark stands on their first child.
Place value_place(const YAML::Node& node, Place key_place) {
  const auto own = node.IsScalar() ? place_of(node.Mark()) : Place{};
  return own.line > 0 ? own : key_place;
}

}  // namespace

void Reader::read(const YAML::Node& root) {
  if (!root.IsMap()) {
    problems_.error({1, 1}, "a configuration is a map of keys such as `listeners:` and `routes:`");
    return;
  }
  section(root, "", "", {1, 1});
}

void Reader::section(const YAML::Node& map, std::string_view prefix, const std::string& at, Place place) {
  Names seen;
  for (const auto& entry : map) {
    const Place key_place = place_of(entry.first.Mark());
    if (!enough_nodes(key_place)) return;
    const auto name = name_of(entry.first, seen);
    if (!name) continue;
    const Key* key = find_key(prefix, *name);
    if (key == nullptr) {
      unknown_key(prefix, *name, key_place, entry.second);
      continue;
    }
    value(*key, entry.second, at.empty() ? *name : at + "." + *name, key_place);
  }
  require(prefix, seen, place);
  if (prefix == "routes[]") require_one_action(seen, place);
}

void Reader::require(std::string_view prefix, const Names& seen, Place place) {
  for (const Key* key : children(prefix)) {
    if (key->presence == Presence::optional || seen.contains(key->name())) continue;
    const auto where = prefix.empty() ? std::string{} : " in `" + readable(prefix) + "`";
    problems_.error(place, "`" + std::string(key->name()) + "` is missing" + where);
  }
}

void Reader::require_one_action(const Names& seen, Place place) {
  const auto count =
      std::count_if(std::begin(kActions), std::end(kActions), [&](auto name) { return seen.contains(name); });
  if (count == 1) return;
  std::string list;
  for (const auto name : kActions) list += (list.empty() ? "`" : ", `") + std::string(name) + "`";
  problems_.error(place, (count == 0 ? "this route does nothing: it needs one of "
                                     : "this route has more than one action: keep one of ") +
                             list);
}

void Reader::unknown_key(std::string_view prefix, const std::string& name, Place place, const YAML::Node& value) {
  std::string message = "unknown key `" + name + "`";
  const Key* meant = nearest(prefix, name);
  if (meant != nullptr) {
    message += "; did you mean `" + std::string(meant->name()) + "`?";
  } else if (const Key* other = elsewhere(name)) {
    const auto parent = readable(other->parent());
    message += parent.empty() ? "; it belongs at the top of the file" : "; it belongs in `" + parent + "`";
  } else {
    message += prefix.empty() ? std::string(" at the top of the file") : " in `" + readable(prefix) + "`";
  }
  problems_.error(place, std::move(message));
  if (names_secret(name) || (meant != nullptr && meant->type == Type::secret)) {
    Place after = place;
    after.column += static_cast<int>(name.size());
    secret_places_.push_back(after);
    secret_places_.push_back(place_of(value.Mark()));
  }
}

void Reader::value(const Key& key, const YAML::Node& node, const std::string& at, Place key_place) {
  const Place place = value_place(node, key_place);
  places_[at] = place;
  const auto& tag = node.Tag();
  if (key.type == Type::secret) secret_places_.push_back(place_of(node.Mark()));
  if (!tag.empty() && tag != "?" && tag != "!" && tag != "tag:yaml.org,2002:str") {
    problems_.error(place, "YAML tags are not used here");
    return;
  }
  if (node.IsNull() && key.type != Type::matches) {
    problems_.error(key_place,
                    "`" + std::string(key.name()) + "` has no value; expected " + std::string(describe(key.type)));
    return;
  }
  switch (key.type) {
    case Type::boolean:
    case Type::integer:
    case Type::size:
    case Type::duration:
    case Type::rate:
    case Type::percent:
    case Type::text:
    case Type::secret:
    case Type::choice: return scalar(key, node, place);
    case Type::texts: return texts(key, node, place);
    case Type::matches:
    case Type::fields: return pairs(key, node, place);
    case Type::group: return group(key, node, at, key_place);
    case Type::records: return records(key, node, at, key_place);
    case Type::record_map: return record_map(key, node, at, key_place);
  }
}

void Reader::group(const Key& key, const YAML::Node& node, const std::string& at, Place key_place) {
  if (node.IsMap()) {
    enter(key, {}, key_place);
    section(node, child_prefix(key), at, key_place);
    return;
  }
  if (key.short_form.empty() || (!node.IsScalar() && !node.IsSequence())) {
    complain(key, value_place(node, key_place), "expected a map of keys");
    return;
  }
  enter(key, {}, key_place);
  short_form(key, node, at, key_place);
}

void Reader::records(const Key& key, const YAML::Node& node, const std::string& at, Place key_place) {
  if (node.IsScalar() && !key.short_form.empty()) return record(key, node, at + "[0]", key_place);
  if (!node.IsSequence()) {
    complain(key, value_place(node, key_place), "expected a list: put `- ` before each entry");
    return;
  }
  std::size_t index = 0;
  for (const auto& element : node) {
    const Place mark = place_of(element.Mark());
    const Place place = mark.line > 0 ? mark : key_place;
    if (!enough_nodes(place)) return;
    record(key, element, at + "[" + std::to_string(index++) + "]", place);
  }
}

void Reader::record(const Key& key, const YAML::Node& node, const std::string& at, Place place) {
  places_[at] = place;
  const bool is_short = node.IsScalar() && !key.short_form.empty();
  if (!node.IsMap() && !is_short) {
    complain(key, place, "each entry is a map of keys" + std::string(key.short_form.empty() ? "" : ", or just a text"));
    return;
  }
  enter(key, {}, place);
  if (is_short) return short_form(key, node, at, place);
  section(node, child_prefix(key), at, place);
}

void Reader::record_map(const Key& key, const YAML::Node& node, const std::string& at, Place key_place) {
  if (!node.IsMap()) {
    complain(key, value_place(node, key_place), "expected a map: a name, a colon, and the keys below it");
    return;
  }
  Names seen;
  for (const auto& entry : node) {
    const Place place = place_of(entry.first.Mark());
    if (!enough_nodes(place)) return;
    const auto name = name_of(entry.first, seen);
    if (!name) continue;
    if (!entry.second.IsMap()) {
      problems_.error(place, "`" + *name + "` needs a map of keys");
      continue;
    }
    const auto inside = at + "." + *name;
    places_[inside] = place;
    enter(key, *name, place);
    section(entry.second, child_prefix(key), inside, place);
  }
}

void Reader::short_form(const Key& key, const YAML::Node& node, const std::string& at, Place place) {
  const Key* child = find_key(child_prefix(key), key.short_form);
  if (child != nullptr) value(*child, node, at + "." + std::string(key.short_form), place);
}

}  // namespace pontage::config
