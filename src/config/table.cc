#include "src/config/table.h"

#include <algorithm>
#include <map>

#include "src/config/scalars.h"

namespace pontage::config {
namespace {

using Index = std::map<std::string, std::vector<const Key*>, std::less<>>;

const Index& index() {
  static const Index made = [] {
    Index out;
    for (const auto& key : table()) out[std::string(key.parent())].push_back(&key);
    return out;
  }();
  return made;
}

}  // namespace

std::string_view Key::name() const noexcept {
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

std::string_view Key::parent() const noexcept {
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot);
}

const std::vector<Key>& table() {
  static const std::vector<Key> made = [] {
    std::vector<Key> keys;
    append_global_keys(keys);
    append_listener_tls_keys(keys);
    append_backend_keys(keys);
    append_backend_tls_keys(keys);
    append_route_keys(keys);
    append_buffering_keys(keys);
    append_compression_keys(keys);
    append_files_keys(keys);
    append_action_keys(keys);
    return keys;
  }();
  return made;
}

const std::vector<const Key*>& children(std::string_view parent) {
  static const std::vector<const Key*> none;
  const auto found = index().find(parent);
  return found == index().end() ? none : found->second;
}

const Key* find_key(std::string_view parent, std::string_view name) {
  for (const Key* key : children(parent)) {
    if (key->name() == name) return key;
  }
  return nullptr;
}

std::string child_prefix(const Key& key) {
  std::string prefix(key.path);
  if (key.type == Type::records) prefix += "[]";
  if (key.type == Type::record_map) prefix += "{}";
  return prefix;
}

const Key* nearest(std::string_view parent, std::string_view name) {
  if (name.size() > 64) return nullptr;
  const Key* best = nullptr;
  std::size_t best_distance = name.size() / 3 + 1;  // farther away is another word
  for (const Key* key : children(parent)) {
    const auto distance = edit_distance(name, key->name());
    if (distance > best_distance || (best != nullptr && distance == best_distance)) continue;
    if (distance >= key->name().size()) continue;
    best = key;
    best_distance = distance;
  }
  return best;
}

const Key* elsewhere(std::string_view name) {
  for (const auto& key : table()) {
    if (key.name() == name) return &key;
  }
  return nullptr;
}

}  // namespace pontage::config
