// The key table against the defaults in config.h, the schema file and the example files.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "src/config/table.h"
#include "src/config/values.h"
#include "tests/unit/config/load_helper.h"

namespace pontage::config {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const std::string kConf = std::string(PONTAGE_SOURCE_DIR) + "/conf/";

std::string contents(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// The number a fresh record holds where `key` stores; nullopt for other kinds.
std::optional<std::int64_t> fresh_number(const Key& key) {
  Config config;
  Listener listener;
  TlsPair pair;
  Backend backend;
  Server server;
  Route route;
  CacheRule cache_rule;
  Target target{&config, &listener, &pair, &backend, &server, &route, &cache_rule};
  if (const auto* where = std::get_if<bool& (*)(Target&)>(&key.where)) return (*where)(target) ? 1 : 0;
  if (const auto* where = std::get_if<int& (*)(Target&)>(&key.where)) return (*where)(target);
  if (const auto* where = std::get_if<std::uint64_t& (*)(Target&)>(&key.where))
    return static_cast<std::int64_t>((*where)(target));
  if (const auto* where = std::get_if<Millis& (*)(Target&)>(&key.where)) return (*where)(target).count();
  return std::nullopt;
}

TEST(Table, DefaultsAreThoseOfTheStructs) {
  int compared = 0;
  for (const auto& key : table()) {
    const auto fresh = fresh_number(key);
    if (!fresh) continue;
    const auto value = parse_value(key, key.fallback, Quoting::plain);
    ASSERT_TRUE(value) << key.path;
    EXPECT_EQ(value->number, *fresh) << key.path;
    ++compared;
  }
  EXPECT_GT(compared, 25);
}

TEST(Table, DescribesEveryKeyOnce) {
  std::set<std::string_view> paths;
  for (const auto& key : table()) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
    EXPECT_FALSE(key.doc.empty()) << key.path;
    EXPECT_TRUE(key.short_form.empty() || find_key(child_prefix(key), key.short_form) != nullptr) << key.path;
    EXPECT_EQ(key.type == Type::choice, key.type != Type::integer && !key.choices.empty()) << key.path;
  }
}

TEST(Table, EveryParentExists) {
  for (const auto& key : table()) {
    auto parent = key.parent();
    if (parent.empty()) continue;
    if (parent.ends_with("[]") || parent.ends_with("{}")) parent.remove_suffix(2);
    const auto& keys = table();
    EXPECT_TRUE(std::any_of(keys.begin(), keys.end(), [&](const Key& k) { return k.path == parent; })) << key.path;
  }
}

TEST(Schema, FileIsCurrent) {
  EXPECT_TRUE(contents(kConf + "pontage.schema.json") == json_schema())
      << "run `pontage schema > conf/pontage.schema.json`";
}

TEST(Schema, SaysWhatTheParserSays) {
  const auto schema = nlohmann::json::parse(json_schema());
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["required"], nlohmann::json::array({"listeners"}));
  EXPECT_EQ(schema["properties"]["routes"]["items"]["oneOf"].size(), 5U);
  EXPECT_TRUE(schema["properties"]["backends"]["additionalProperties"]["properties"].contains("sticky"));
}

TEST(Examples, LoadWithoutErrors) {
  ::setenv("AJP_SECRET", "example", 1);
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kConf)) {
    if (entry.path().extension() != ".yaml") continue;
    const auto loaded = load_file(entry.path().string());
    EXPECT_TRUE(loaded.ok()) << render(loaded);
    ++count;
  }
  EXPECT_GE(count, 2);
}

TEST(Examples, FullFileHasNoWarnings) {
  EXPECT_THAT(problems_of(load_file(kConf + "full.yaml")), IsEmpty());
}

TEST(Examples, FullFileShowsEveryKey) {
  const auto text = contents(kConf + "full.yaml");
  for (const auto& key : table()) EXPECT_THAT(text, HasSubstr(std::string(key.name()) + ":")) << key.path;
}

TEST(Examples, FullFileShowsTheDefaults) {
  const auto text = contents(kConf + "full.yaml");
  for (const auto& key : table()) {
    if (key.fallback.empty() || key.type == Type::group || key.type == Type::texts) continue;
    EXPECT_THAT(text, HasSubstr(std::string(key.name()) + ": " + std::string(key.fallback))) << key.path;
  }
}

}  // namespace
}  // namespace pontage::config
