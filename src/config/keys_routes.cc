// The keys of routes: what they match and how they change a request.
#include <algorithm>

#include "protocols/message/header.h"
#include "protocols/wire/ascii.h"
#include "src/config/addresses.h"
#include "src/config/table.h"

namespace pontage::config {
namespace {

std::string begin_route(Target& target, const Value& value) {
  target.route = &target.config->routes.emplace_back();
  target.route->place = value.place;
  return {};
}

std::string store_route_name(Target& target, const Value& value) {
  target.route->name = value.text;
  return value.text.empty() ? "a route's name cannot be empty" : std::string{};
}

// `path` and `match: { path }` are the same; both together would hide one.
constexpr std::string_view kTwice =
    "this is matched on already, in the short form beside `match` or the other way round";

std::string host_error(std::string_view host) {
  if (host.find("://") != std::string_view::npos || host.find('/') != std::string_view::npos)
    return "a host has no scheme and no path";
  const auto name = host.starts_with("*.") ? host.substr(2) : host;
  if (name.empty()) return "a host is a name such as www.example.org or *.example.org";
  if (name.find('*') != std::string_view::npos)
    return "`*` stands only for whole labels at the front, as in *.example.org";
  const auto bracket = name.rfind(']');
  if (name.find(':', bracket == std::string_view::npos ? 0 : bracket) != std::string_view::npos)
    return "a host has no port";
  const bool fine = std::all_of(name.begin(), name.end(), [](char c) {
    return wire::is_alpha(c) || wire::is_digit(c) || std::string_view("-._~:[]").find(c) != std::string_view::npos;
  });
  return fine ? std::string{} : "a host is made of letters, digits, `-` and `.`; write others in punycode";
}

std::string store_hosts(Target& target, const Value& value) {
  auto& hosts = target.route->match.hosts;
  if (!hosts.empty()) return std::string(kTwice);
  for (const auto& text : value.texts) {
    if (auto error = host_error(text); !error.empty()) return "`" + text + "`: " + error;
    hosts.push_back(lower(text));
    if (hosts.back().ends_with('.')) hosts.back().pop_back();
  }
  return hosts.empty() ? "an empty list would match nothing; leave the key out to match any host" : std::string{};
}

std::string path_error(std::string_view path) {
  if (path.starts_with('~')) return path.size() > 1 ? std::string{} : "`~` is followed by a regular expression";
  if (!path.starts_with('/')) return "a path starts with `/` (or with `~` for a regular expression)";
  const auto star = path.find('*');
  if (star != std::string_view::npos && (star + 1 != path.size() || path[star - 1] != '/')) {
    return "`*` stands only at the end, after a slash, as in /x/*; for more use a regular expression: ~/x/.*";
  }
  if (path.find_first_of("?#") != std::string_view::npos)
    return "a path has no query and no fragment; queries are matched with `match: { query: ... }`";
  if (path.find(';') != std::string_view::npos)
    return "path parameters (`;...`) are ignored when matching, leave them out";
  return wire::is_field_value(path) ? std::string{} : "a path has no control characters";
}

std::string store_paths(Target& target, const Value& value) {
  auto& paths = target.route->match.paths;
  if (!paths.empty()) return std::string(kTwice);
  for (const auto& text : value.texts) {
    if (auto error = path_error(text); !error.empty()) return "`" + text + "`: " + error;
    paths.push_back(text);
  }
  return paths.empty() ? "an empty list would match nothing; leave the key out to match any path" : std::string{};
}

std::string store_methods(Target& target, const Value& value) {
  auto& methods = target.route->match.methods;
  if (!methods.empty()) return std::string(kTwice);
  for (const auto& text : value.texts) {
    if (!wire::is_token(text)) return "`" + text + "` is no method";
    const bool shouted = std::none_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    if (!shouted)
      return "methods are case-sensitive, and those in use have no lower-case letters: `" + text +
             "` would never match";
    methods.push_back(text);
  }
  return methods.empty() ? "an empty list would match nothing; leave the key out to match any method" : std::string{};
}

std::string store_header_matches(Target& target, const Value& value) {
  for (const auto& pair : value.pairs) {
    if (!wire::is_token(pair.name)) return "`" + pair.name + "` is no field name";
  }
  target.route->match.headers = value.pairs;
  return {};
}

std::string store_query_matches(Target& target, const Value& value) {
  target.route->match.queries = value.pairs;
  return {};
}

std::string store_cookie_matches(Target& target, const Value& value) {
  for (const auto& pair : value.pairs) {
    if (!wire::is_token(pair.name)) return "`" + pair.name + "` is no cookie name";
  }
  target.route->match.cookies = value.pairs;
  return {};
}

// A prefix that is put in front or taken away: "/x", never "/x/" or "/". Stored without a slash at the end.
std::string store_prefix(std::string& where, std::string_view text) {
  while (text.ends_with('/')) text.remove_suffix(1);
  where = std::string(text);
  if (text.empty()) return "a prefix is more than `/`; leave the key out when there is nothing to change";
  if (!text.starts_with('/') || text.starts_with("//")) return "a prefix starts with one `/`";
  if (text.find_first_of("?#;* ") != std::string_view::npos || !wire::is_field_value(text)) {
    return "a prefix is a plain path without `?`, `#`, `;`, `*` and spaces";
  }
  return {};
}

std::string store_replacement(Target& target, const Value& value) {
  target.route->rewrite.replacement = value.text;
  const bool fine = value.text.find_first_of("?#") == std::string::npos && wire::is_field_value(value.text);
  return fine ? std::string{} : "a replacement is a path: it has no `?`, no `#` and no control characters";
}

// Framing and connection fields are written by the gateway alone; so is Host, from the request's authority.
std::string edit_name_error(std::string_view name) {
  if (!wire::is_token(name)) return "`" + std::string(name) + "` is no field name";
  const auto id = message::lookup_header(name);
  if (message::is_hop_by_hop(id) || id == message::HeaderId::content_length) {
    return "`" + std::string(name) +
           "` says how a message is framed or belongs to one connection; the gateway alone writes it";
  }
  if (id == message::HeaderId::host) return "`Host` is the authority the client asked for; it cannot be edited";
  return {};
}

std::string append_edits(std::vector<HeaderEdit>& edits, HeaderEdit::Kind kind, const Value& value) {
  for (const auto& pair : value.pairs) {
    if (auto error = edit_name_error(pair.name); !error.empty()) return error;
    if (!wire::is_field_value(*pair.value))
      return "the value of `" + pair.name + "` holds a line end or another control character";
    edits.push_back({kind, pair.name, std::string(wire::trim_ows(*pair.value))});
  }
  for (const auto& name : value.texts) {
    if (auto error = edit_name_error(name); !error.empty()) return error;
    edits.push_back({kind, name, {}});
  }
  return {};
}

template <std::vector<HeaderEdit> Route::*Side, HeaderEdit::Kind kKind>
std::string store_edits(Target& target, const Value& value) {
  return append_edits(target.route->*Side, kKind, value);
}

template <Encoded Route::*Member>
std::string store_encoded(Target& target, const Value& value) {
  target.route->*Member = static_cast<Encoded>(value.number);
  return {};
}

std::string store_body_limit(Target& target, const Value& value) {
  target.route->body_limit = static_cast<std::uint64_t>(value.number);
  return {};
}

using Kind = HeaderEdit::Kind;

void append_match_keys(std::vector<Key>& keys) {
  keys.insert(
      keys.end(),
      {{"routes", Type::records, "",
        "What is done with requests: the first route that matches decides. A request that none matches is 404.",
        &begin_route},
       {"routes[].name", Type::text, "", "Its label in metrics; the path, or route-N, unless given.",
        &store_route_name},
       {"routes[].path", Type::texts, "", "Short for match.path: `/exact`, `/prefix/*` or `~regex`.", &store_paths},
       {"routes[].host", Type::texts, "", "Short for match.host.", &store_hosts},
       {"routes[].method", Type::texts, "", "Short for match.method.", &store_methods},
       {"routes[].match", Type::group, "", "All of these must hold; of a list, one."},
       {"routes[].match.path", Type::texts, "",
        "`/exact`; `/x/*` for /x and everything below; `~regex` for an RE2 expression over the whole path.",
        &store_paths},
       {"routes[].match.host", Type::texts, "", "`www.example.org`, or `*.example.org` for every name below.",
        &store_hosts},
       {"routes[].match.method", Type::texts, "", "`GET`, `POST`, ...", &store_methods},
       {"routes[].match.header", Type::matches, "",
        "Fields by name: an exact value, or nothing when it need only be there.", &store_header_matches},
       {"routes[].match.query", Type::matches, "", "Parameters of the query, likewise.", &store_query_matches},
       {"routes[].match.cookie", Type::matches, "", "Cookies, likewise.", &store_cookie_matches}});
}

}  // namespace

void append_route_keys(std::vector<Key>& keys) {
  append_match_keys(keys);
  keys.insert(
      keys.end(),
      {{"routes[].rewrite", Type::group, "",
        "Changes the path before the action: strip_prefix, then regex, then add_prefix."},
       {"routes[].rewrite.strip_prefix", Type::text, "", "`/api` makes /api/x to /x; other paths stay.",
        +[](Target& t, const Value& v) { return store_prefix(t.route->rewrite.strip_prefix, v.text); }},
       {"routes[].rewrite.add_prefix", Type::text, "", "`/app` makes /x to /app/x.",
        +[](Target& t, const Value& v) { return store_prefix(t.route->rewrite.add_prefix, v.text); }},
       {"routes[].rewrite.regex", Type::text, "", "An RE2 expression; its first match in the path is replaced.",
        +[](Target& t) -> std::string& { return t.route->rewrite.regex; }},
       {"routes[].rewrite.replacement", Type::text, "", "What stands there instead; `\\1` is the first group.",
        &store_replacement},
       {"routes[].request_headers", Type::group, "", "Changes fields on the way to the server, in the order written."},
       {"routes[].request_headers.set", Type::fields, "", "Replaces every field of the name.",
        &store_edits<&Route::request_headers, Kind::set>},
       {"routes[].request_headers.add", Type::fields, "", "Adds one more.",
        &store_edits<&Route::request_headers, Kind::add>},
       {"routes[].request_headers.remove", Type::texts, "", "Removes every field of the name.",
        &store_edits<&Route::request_headers, Kind::remove>},
       {"routes[].response_headers", Type::group, "", "Changes fields on the way to the client, in the order written."},
       {"routes[].response_headers.set", Type::fields, "", "Replaces every field of the name.",
        &store_edits<&Route::response_headers, Kind::set>},
       {"routes[].response_headers.add", Type::fields, "", "Adds one more.",
        &store_edits<&Route::response_headers, Kind::add>},
       {"routes[].response_headers.remove", Type::texts, "", "Removes every field of the name.",
        &store_edits<&Route::response_headers, Kind::remove>},
       {"routes[].limits", Type::group, "", "Limits of this route alone."},
       {"routes[].limits.body", Type::size, "", "A request body; more is 413. The gateway's limit unless given.",
        &store_body_limit},
       {"routes[].encoded_slash",
        Type::choice,
        "refuse",
        "Whether %2F may stand in a path; else it is 400.",
        &store_encoded<&Route::encoded_slash>,
        {},
        {"refuse", "allow"}},
       {"routes[].backslash",
        Type::choice,
        "refuse",
        "Whether a backslash, also as %5C, may stand in a path; else it is 400.",
        &store_encoded<&Route::backslash>,
        {},
        {"refuse", "allow"}},
       {"routes[].nul",
        Type::choice,
        "refuse",
        "Whether %00 may stand in a path; else it is 400.",
        &store_encoded<&Route::nul>,
        {},
        {"refuse", "allow"}},
       {"routes[].retry_non_idempotent", Type::boolean, "false",
        "Whether POST and its like are tried again when a reused connection closed without a byte; the server may then "
        "do the work twice.",
        +[](Target& t) -> bool& { return t.route->retry_non_idempotent; }}});
}

}  // namespace pontage::config
