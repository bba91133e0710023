// The part of the reader that deals with scalars, lists and maps of texts.
#include "src/config/document.h"
#include "src/config/reader.h"
#include "src/config/scalars.h"

namespace pontage::config {
namespace {

// Overloads for std::visit.
template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

Place or_else(Place place, Place other) {
  return place.line > 0 ? place : other;
}

}  // namespace

void Reader::scalar(const Key& key, const YAML::Node& node, Place place) {
  const auto text = text_of(key, node, place);
  if (!text) return;
  // A variable may have to be quoted because of its braces; what is quoted otherwise is a text.
  const bool quoted = node.Tag() != "?" && node.Scalar().find("${") == std::string::npos;
  auto value = parse_value(key, *text, quoted ? Quoting::quoted : Quoting::plain);
  if (!value) return complain(key, place, value.error());
  value->place = place;
  store(key, *value, place);
}

void Reader::texts(const Key& key, const YAML::Node& node, Place place) {
  Value value;
  value.place = place;
  if (node.IsScalar()) {
    auto text = text_of(key, node, place);
    if (!text) return;
    value.texts.push_back(*std::move(text));
  } else if (node.IsSequence()) {
    bool good = true;
    for (const auto& element : node) {
      const Place own = or_else(place_of(element.Mark()), place);
      if (!enough_nodes(own)) return;
      auto text = text_of(key, element, own);
      good = good && text.has_value();
      if (text) value.texts.push_back(*std::move(text));
    }
    if (!good) return;
  } else {
    return complain(key, place, "expected a text or a list of texts");
  }
  store(key, value, place);
}

void Reader::pairs(const Key& key, const YAML::Node& node, Place place) {
  Value value;
  value.place = place;
  const bool may_be_bare = key.type == Type::matches;
  if (may_be_bare && (node.IsScalar() || node.IsSequence())) {
    // A name or a list of names: each need only be there.
    const auto add = [&](const YAML::Node& name) {
      if (auto text = text_of(key, name, or_else(place_of(name.Mark()), place)))
        value.pairs.push_back({*std::move(text), std::nullopt});
    };
    if (node.IsScalar()) add(node);
    for (const auto& element : node) {
      if (!enough_nodes(place)) return;
      add(element);
    }
  } else if (node.IsMap()) {
    Names seen;
    for (const auto& entry : node) {
      const Place own = place_of(entry.first.Mark());
      if (!enough_nodes(own)) return;
      auto name = name_of(entry.first, seen);
      if (!name) continue;
      if (may_be_bare && entry.second.IsNull()) {
        value.pairs.push_back({*std::move(name), std::nullopt});
        continue;
      }
      auto text =
          text_of(key, entry.second, entry.second.IsScalar() ? or_else(place_of(entry.second.Mark()), own) : own);
      if (text) value.pairs.push_back({*std::move(name), *std::move(text)});
    }
  } else {
    return complain(key, place, "expected " + std::string(describe(key.type)));
  }
  store(key, value, place);
}

void Reader::store(const Key& key, const Value& value, Place place) {
  const auto error = std::visit(Overloaded{[](std::monostate) { return std::string{}; },
                                           [&](bool& (*where)(Target&)) {
                                             where(target_) = value.number != 0;
                                             return std::string{};
                                           },
                                           [&](int& (*where)(Target&)) {
                                             where(target_) = static_cast<int>(value.number);
                                             return std::string{};
                                           },
                                           [&](std::uint64_t& (*where)(Target&)) {
                                             where(target_) = static_cast<std::uint64_t>(value.number);
                                             return std::string{};
                                           },
                                           [&](Millis& (*where)(Target&)) {
                                             where(target_) = Millis(value.number);
                                             return std::string{};
                                           },
                                           [&](std::string& (*where)(Target&)) {
                                             where(target_) = value.text;
                                             return std::string{};
                                           },
                                           [&](std::vector<std::string>& (*where)(Target&)) {
                                             where(target_) = value.texts;
                                             return std::string{};
                                           },
                                           [&](Store function) { return function(target_, value); }},
                                key.where);
  if (!error.empty()) complain(key, place, error);
}

void Reader::enter(const Key& key, std::string text, Place place) {
  if (std::holds_alternative<std::monostate>(key.where)) return;
  Value value;
  value.text = std::move(text);
  value.place = place;
  store(key, value, place);
}

std::optional<std::string> Reader::text_of(const Key& key, const YAML::Node& node, Place place) {
  if (!node.IsScalar()) {
    const bool one = key.type != Type::texts && key.type != Type::matches && key.type != Type::fields;
    complain(key, place, "expected " + std::string(one ? describe(key.type) : "a text"));
    return std::nullopt;
  }
  auto text = expand_environment(node.Scalar());
  if (!text) {
    complain(key, place, text.error());
    return std::nullopt;
  }
  if (text->find('\0') != std::string::npos) {
    complain(key, place, "a value cannot hold a NUL byte");
    return std::nullopt;
  }
  return *std::move(text);
}

std::optional<std::string> Reader::name_of(const YAML::Node& node, Names& seen) {
  const Place place = place_of(node.Mark());
  if (!node.IsScalar()) {
    problems_.error(place, "a key is a single word");
    return std::nullopt;
  }
  const auto& name = node.Scalar();
  if (name == "<<") {
    problems_.error(place, "YAML merge keys (`<<`) are not supported: write the keys out");
    return std::nullopt;
  }
  if (!seen.insert(name).second) {
    problems_.error(place, "`" + name + "` stands here twice");
    return std::nullopt;
  }
  return name;
}

bool Reader::enough_nodes(Place place) {
  if (++nodes_ == kMostNodes)
    problems_.error(place, "the file unfolds into too many values; aliases are shared, not free");
  return nodes_ < kMostNodes;
}

void Reader::complain(const Key& key, Place place, const std::string& why) {
  problems_.error(place, "`" + std::string(key.name()) + "`: " + why);
}

}  // namespace pontage::config
