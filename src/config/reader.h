// Walks the YAML nodes along the key table and fills a Config; says what is unknown, doubled, missing or malformed, and
// goes on. Called by load.cc; one use; control thread.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "src/config/problems.h"
#include "src/config/table.h"
#include "src/config/values.h"

namespace pontage::config {

class Reader {
 public:
  // Aliases share nodes, so a small file can unfold into a huge one; this many are visited.
  static constexpr std::size_t kMostNodes = 100'000;

  Reader(Config& config, Problems& problems) : problems_(problems) { target_.config = &config; }

  void read(const YAML::Node& root);
  const Places& places() const noexcept { return places_; }
  // The places of secret values, and of the values of misspelt keys that may hold one.
  const std::vector<Place>& secret_places() const noexcept { return secret_places_; }

 private:
  using Names = std::set<std::string, std::less<>>;

  // The keys of one map. `at` is the map's own path ("routes[3]"), `place` where problems with the whole are shown.
  void section(const YAML::Node& map, std::string_view prefix, const std::string& at, Place place);
  void require(std::string_view prefix, const Names& seen, Place place);
  void require_one_action(const Names& seen, Place place);
  void unknown_key(std::string_view prefix, const std::string& name, Place place, const YAML::Node& value);

  void value(const Key& key, const YAML::Node& node, const std::string& at, Place key_place);
  void group(const Key& key, const YAML::Node& node, const std::string& at, Place key_place);
  void records(const Key& key, const YAML::Node& node, const std::string& at, Place key_place);
  void record(const Key& key, const YAML::Node& node, const std::string& at, Place place);
  void record_map(const Key& key, const YAML::Node& node, const std::string& at, Place key_place);
  void scalar(const Key& key, const YAML::Node& node, Place place);
  void texts(const Key& key, const YAML::Node& node, Place place);
  void pairs(const Key& key, const YAML::Node& node, Place place);
  void short_form(const Key& key, const YAML::Node& node, const std::string& at, Place place);

  void store(const Key& key, const Value& value, Place place);
  // Calls the hook of a group or record on entering it.
  void enter(const Key& key, std::string text, Place place);
  // The text of a scalar with its variables replaced; nullopt after a problem.
  std::optional<std::string> text_of(const Key& key, const YAML::Node& node, Place place);
  // A key of a map as text, new among `seen`; nullopt after a problem.
  std::optional<std::string> name_of(const YAML::Node& node, Names& seen);
  bool enough_nodes(Place place);
  void complain(const Key& key, Place place, const std::string& why);

  Target target_;
  Problems& problems_;
  Places places_;
  std::vector<Place> secret_places_;
  std::size_t nodes_ = 0;
};

}  // namespace pontage::config
