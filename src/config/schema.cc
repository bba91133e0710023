// The JSON Schema of the file, for editors: made from the key table, so that it says what the reader accepts. Variables
// (`${NAME}`) are allowed wherever a text is.
#include <nlohmann/json.hpp>

#include "src/config/load.h"
#include "src/config/table.h"
#include "src/config/values.h"

namespace pontage::config {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kVariable = R"(.*\$\{.*)";

Json text_pattern(const std::string& pattern) {
  return {{"type", "string"}, {"pattern", "^(?:" + pattern + "|" + std::string(kVariable) + ")$"}};
}

Json text_list() {
  return {{"type", "array"}, {"items", {{"type", "string"}}}};
}

// A bare 0 needs no unit, where 0 is within the bounds.
Json with_zero(const Key& key, Json text) {
  if (key.bounds.min > 0) return text;
  return {{"anyOf", {std::move(text), {{"const", 0}}}}};
}

Json scalar_schema(const Key& key) {
  switch (key.type) {
    // YAML 1.2, which editors speak, reads on, off, yes and no as texts.
    case Type::boolean: return {{"enum", {true, false, "on", "off", "yes", "no"}}};
    case Type::integer: {
      Json number = {{"type", "integer"}, {"minimum", key.bounds.min}};
      if (key.bounds.max != INT64_MAX) number["maximum"] = key.bounds.max;
      Json any = Json::array({std::move(number), text_pattern("[0-9]+")});
      for (const auto& choice : key.choices) any.push_back({{"const", choice}});
      return {{"anyOf", std::move(any)}};
    }
    case Type::size: return with_zero(key, text_pattern("[0-9]+(?:B|KiB|MiB|GiB|TiB)|0"));
    case Type::duration: return with_zero(key, text_pattern("[0-9]+(?:ms|s|m|h|d)|0"));
    case Type::rate: return with_zero(key, text_pattern("[0-9]+(?:B|KiB|MiB|GiB|TiB)/s|0"));
    case Type::percent: return text_pattern("[0-9]+%");
    case Type::text: return {{"type", {"string", "number", "boolean"}}};
    case Type::secret: return {{"type", {"string", "number"}}};
    case Type::choice: {
      Json any = Json::array();
      for (const auto& choice : key.choices) {
        any.push_back(choice);
        if (choice.find_first_not_of("0123456789") == std::string_view::npos) {
          any.push_back(std::stoi(std::string(choice)));
        } else if (choice.find_first_not_of("0123456789.") == std::string_view::npos) {
          any.push_back(std::stod(std::string(choice)));
        }
      }
      return {{"enum", std::move(any)}};
    }
    case Type::texts: return {{"anyOf", Json::array({{{"type", {"string", "boolean"}}}, text_list()})}};
    case Type::fields:
      return {{"type", "object"}, {"additionalProperties", {{"type", {"string", "number", "boolean"}}}}};
    case Type::matches: {
      Json map = {{"type", "object"}, {"additionalProperties", {{"type", {"string", "number", "boolean", "null"}}}}};
      return {{"anyOf", Json::array({std::move(map), {{"type", "string"}}, text_list()})}};
    }
    case Type::group:
    case Type::records:
    case Type::record_map: break;
  }
  return Json::object();
}

Json key_schema(const Key& key);

Json section_schema(std::string_view prefix) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Key* key : children(prefix)) {
    properties[std::string(key->name())] = key_schema(*key);
    if (key->presence == Presence::required) required.push_back(key->name());
  }
  Json out = {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) out["required"] = std::move(required);
  if (prefix == "routes[]") {
    Json one = Json::array();
    for (const auto name : kActions) one.push_back({{"required", {name}}});
    out["oneOf"] = std::move(one);
  }
  return out;
}

// The long form, or the short one where there is one.
Json with_short_form(const Key& key, Json section) {
  if (key.short_form.empty()) return section;
  const Key* child = find_key(child_prefix(key), key.short_form);
  const bool list = key.type == Type::group && child != nullptr && child->type == Type::texts;
  Json any = Json::array({{{"type", {"string", "boolean", "number"}}}, std::move(section)});
  if (list) any.push_back(text_list());
  if (key.type == Type::group && child != nullptr && child->type == Type::records) {
    any.push_back({{"type", "array"}, {"items", with_short_form(*child, section_schema(child_prefix(*child)))}});
  }
  return {{"anyOf", std::move(any)}};
}

// A list of records; a bare text where one alone may stand for the list.
Json records_schema(const Key& key) {
  Json list = {{"type", "array"}, {"items", with_short_form(key, section_schema(child_prefix(key)))}};
  if (key.presence == Presence::required) list["minItems"] = 1;
  if (key.short_form.empty()) return list;
  return {{"anyOf", Json::array({{{"type", {"string", "boolean", "number"}}}, std::move(list)})}};
}

Json key_schema(const Key& key) {
  Json out;
  if (key.type == Type::group) {
    out = with_short_form(key, section_schema(child_prefix(key)));
  } else if (key.type == Type::records) {
    out = records_schema(key);
  } else if (key.type == Type::record_map) {
    out = {{"type", "object"}, {"additionalProperties", section_schema(child_prefix(key))}};
  } else {
    out = scalar_schema(key);
  }
  out["description"] =
      std::string(key.doc) + (key.fallback.empty() ? "" : " Default: " + std::string(key.fallback) + ".");
  return out;
}

}  // namespace

std::string json_schema() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Pontage configuration"}};
  schema.update(section_schema(""));
  return schema.dump(2) + "\n";
}

}  // namespace pontage::config
