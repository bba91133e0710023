// The one table of configuration keys: what each is called, what it may hold, what it means when absent, and where its
// value goes. The reader, the "did you mean" and the JSON schema are all made from it, so that they cannot disagree.
// Immutable; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "src/config/config.h"

namespace pontage::config {

enum class Type : std::uint8_t {
  boolean,
  integer,   // decimal; or one of `choices`, which then means 0
  size,      // bytes
  duration,  // milliseconds
  rate,      // bytes a second
  percent,
  text,
  secret,      // text that is never printed
  choice,      // one of `choices`; the value is its index
  texts,       // a text or a list of texts
  matches,     // a map of name to exact value (nothing: present at all), or a name, or a list of names
  fields,      // a map of name to text
  group,       // a map of further keys
  records,     // a list of maps
  record_map,  // a map of name to map
};

// The upper bound of most durations, in milliseconds.
inline constexpr std::int64_t kDay = 86'400'000;

// One value after parsing. Which member counts depends on the key's type.
struct Value {
  std::int64_t number = 0;  // boolean, integer, size, duration, rate, percent, choice
  std::string text;         // text, secret; the name of a new entry of a record_map
  std::vector<std::string> texts;
  std::vector<NameMatch> pairs;  // matches; fields always have a value
  Place place;
};

// What is being filled. The pointers stand on the record that is being read and are valid while it is.
struct Target {
  Config* config = nullptr;
  Listener* listener = nullptr;
  TlsPair* pair = nullptr;
  Backend* backend = nullptr;
  Server* server = nullptr;
  Route* route = nullptr;
  CacheRule* cache_rule = nullptr;
};

// Puts the value where it belongs. An error is one sentence without the value of a secret; empty when all is well.
using Store = std::string (*)(Target&, const Value&);

// Where plain values go; `Store` for those that need a look first.
using Where =
    std::variant<std::monostate, bool& (*)(Target&), int& (*)(Target&), std::uint64_t& (*)(Target&),
                 Millis& (*)(Target&), std::string& (*)(Target&), std::vector<std::string>& (*)(Target&), Store>;

// The route's action as an A. When a route names two actions, which is an error reported elsewhere, the last one stays.
template <class A>
A& action(Target& target) {
  auto& held = target.route->action;
  if (!std::holds_alternative<A>(held)) held = A{};
  return std::get<A>(held);
}

template <class A>
std::string begin_action(Target& target, const Value&) {
  action<A>(target);
  return {};
}

struct Bounds {
  std::int64_t min = 0;
  std::int64_t max = INT64_MAX;
};

enum class Presence : std::uint8_t { optional, required };

struct Key {
  // "client.head", "listeners[].bind" inside a list's records, "backends{}.sticky" inside a map's.
  std::string_view path;
  Type type = Type::text;
  std::string_view fallback;  // the default as the file would say it; empty: none
  std::string_view doc;       // one or two sentences
  Where where{};              // groups, records: called on entering, may be empty
  Bounds bounds{};
  std::vector<std::string_view> choices{};
  std::string_view short_form{};  // groups, records: the child that a bare text (of a group: or list) means
  Presence presence = Presence::optional;

  std::string_view name() const noexcept;    // the last part of the path
  std::string_view parent() const noexcept;  // the path before it, "" at the top
};

// Every key, parents before children, in the order of the documentation.
const std::vector<Key>& table();
// The keys directly below `parent` ("", "client", "listeners[]", "backends{}.servers[]").
const std::vector<const Key*>& children(std::string_view parent);
// nullptr when there is no such key.
const Key* find_key(std::string_view parent, std::string_view name);
// The path that `key`'s children have as their parent.
std::string child_prefix(const Key& key);

// What somebody meant who wrote the unknown `name` below `parent`: a sibling that is near. nullptr when nothing is.
const Key* nearest(std::string_view parent, std::string_view name);
// A key of exactly this name that lives elsewhere; nullptr when there is none.
const Key* elsewhere(std::string_view name);

// The parts of the table.
void append_global_keys(std::vector<Key>& keys);
void append_listener_tls_keys(std::vector<Key>& keys);
void append_backend_tls_keys(std::vector<Key>& keys);
void append_backend_keys(std::vector<Key>& keys);
void append_cgi_keys(std::vector<Key>& keys);
void append_cgi_action_keys(std::vector<Key>& keys);
void append_route_keys(std::vector<Key>& keys);
void append_buffering_keys(std::vector<Key>& keys);
void append_files_keys(std::vector<Key>& keys);
void append_compression_keys(std::vector<Key>& keys);
void append_action_keys(std::vector<Key>& keys);

// The names of a route's actions: exactly one stands in each route.
inline constexpr std::string_view kActions[] = {"files", "proxy", "cgi", "redirect", "respond"};

}  // namespace pontage::config
