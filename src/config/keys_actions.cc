// The keys of a route's action: proxy, redirect or respond (files: keys_files.cc, cgi: keys_cgi.cc).
#include <algorithm>

#include "protocols/wire/ascii.h"
#include "src/config/table.h"

namespace pontage::config {
namespace {

std::string store_proxy(Target& target, const Value& value) {
  action<ProxyAction>(target).backend = value.text;
  return value.text.empty() ? "expected the name of a backend" : std::string{};
}

// "//host" and "/\host" would leave the site (CASES P16).
std::string store_location(Target& target, const Value& value) {
  const std::string& text = value.text;
  action<RedirectAction>(target).location = text;
  const bool visible = std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (!visible || text.empty()) return "a location is made of visible ASCII characters; write others as %XX";
  if (text.starts_with("//") || text.starts_with("/\\"))
    return "`//host` leaves this site without looking like it; write https://host";
  if (text.starts_with('/') || text.find("://") != std::string::npos) return {};
  return "a location is a path that starts with `/`, or a whole URL such as https://www.example.org/";
}

std::string store_redirect_status(Target& target, const Value& value) {
  constexpr int kStatus[] = {301, 302, 303, 307, 308};
  action<RedirectAction>(target).status = kStatus[value.number];
  return {};
}

std::string store_status(Target& target, const Value& value) {
  action<RespondAction>(target).status = static_cast<int>(value.number);
  return {};
}

std::string store_body(Target& target, const Value& value) {
  action<RespondAction>(target).body = value.text;
  return {};
}

std::string store_content_type(Target& target, const Value& value) {
  action<RespondAction>(target).content_type = value.text;
  const bool fine = wire::is_field_value(value.text) && value.text.find('/') != std::string::npos;
  return fine ? std::string{} : "expected a media type such as text/html; charset=utf-8";
}

void append_fixed_action_keys(std::vector<Key>& keys) {
  keys.insert(keys.end(),
              {{"routes[].redirect",
                Type::group,
                "",
                "Sends the client elsewhere.",
                &begin_action<RedirectAction>,
                {},
                {},
                "location"},
               {"routes[].redirect.location",
                Type::text,
                "",
                "A path or a URL.",
                &store_location,
                {},
                {},
                {},
                Presence::required},
               {"routes[].redirect.status",
                Type::choice,
                "302",
                "307 and 308 keep the method, 301 and 308 are permanent.",
                &store_redirect_status,
                {},
                {"301", "302", "303", "307", "308"}},
               {"routes[].respond",
                Type::group,
                "",
                "Answers with a fixed text.",
                &begin_action<RespondAction>,
                {},
                {},
                "body"},
               {"routes[].respond.status", Type::integer, "200", "The status code.", &store_status, {200, 599}},
               {"routes[].respond.body", Type::text, "", "The text.", &store_body},
               {"routes[].respond.content_type", Type::text, "text/plain; charset=utf-8", "Its media type.",
                &store_content_type}});
}

}  // namespace

void append_action_keys(std::vector<Key>& keys) {
  keys.push_back({"routes[].proxy", Type::text, "", "Forwards to a server of this backend.", &store_proxy});
  append_cgi_action_keys(keys);
  append_fixed_action_keys(keys);
}

}  // namespace pontage::config
