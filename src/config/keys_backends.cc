// The keys of backends and their servers.
#include <algorithm>

#include "protocols/wire/ascii.h"
#include "src/config/addresses.h"
#include "src/config/files.h"
#include "src/config/table.h"

namespace pontage::config {
namespace {

// Names become metric labels, and a server's name the end of a session id.
std::string name_error(std::string_view what, std::string_view name) {
  const bool fine = !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return wire::is_alpha(c) || wire::is_digit(c) || c == '-' || c == '_' || c == '.';
  });
  return fine ? std::string{} : std::string(what) + " is made of 1 to 64 letters, digits, `-`, `_` and `.`";
}

std::string begin_backend(Target& target, const Value& value) {
  target.backend = &target.config->backends.emplace_back();
  target.backend->name = value.text;
  target.backend->place = value.place;
  return name_error("a backend's name", value.text);
}

std::string begin_server(Target& target, const Value& value) {
  target.server = &target.backend->servers.emplace_back();
  target.server->place = value.place;
  return {};
}

std::string store_url(Target& target, const Value& value) {
  auto url = parse_server_url(value.text);
  if (!url) return url.error();
  target.server->url = *std::move(url);
  if (!target.server->named) target.server->name = default_server_name(target.server->url);
  return {};
}

std::string store_server_name(Target& target, const Value& value) {
  target.server->name = value.text;
  target.server->named = true;
  return name_error("a server's name", value.text);
}

std::string store_cookie(Target& target, const Value& value) {
  auto& sticky = target.backend->sticky;
  sticky.cookie = value.text;
  if (sticky.path_parameter.empty()) sticky.path_parameter = lower(value.text);
  return wire::is_token(value.text) ? std::string{} : "a cookie's name is a token: no spaces, no `=`, no `;`";
}

std::string store_path_parameter(Target& target, const Value& value) {
  target.backend->sticky.path_parameter = value.text;
  return wire::is_token(value.text) ? std::string{} : "a path parameter's name is a token: no spaces, no `=`, no `;`";
}

std::string secret_error(std::string_view secret) {
  return secret.empty() || secret.find('\0') != std::string_view::npos
             ? "a secret is at least one character, and none of them is NUL"
             : "";
}

std::string store_secret(Target& target, const Value& value) {
  target.backend->secret = value.text;
  return secret_error(value.text);
}

std::string store_secret_file(Target& target, const Value& value) {
  auto secret = read_secret(resolve_path(target.config->file, value.text));
  if (!secret) return secret.error();
  target.backend->secret = *std::move(secret);
  return secret_error(target.backend->secret);
}

// AJP packets grow in steps of 1024 bytes; both ends must agree on the sum (ADAPTERS A2).
std::string store_packet_size(Target& target, const Value& value) {
  target.backend->packet_size = (static_cast<std::size_t>(value.number) + 1023) / 1024 * 1024;
  return {};
}

std::string store_send_proxy(Target& target, const Value& value) {
  target.backend->send_proxy = static_cast<SendProxy>(value.number);
  return {};
}

using M = Millis&;

void append_session_keys(std::vector<Key>& keys) {
  keys.insert(keys.end(),
              {{"backends{}.sticky",
                Type::group,
                "",
                "Keeps a session on its server: the name of the session cookie. Off unless given.",
                {},
                {},
                {},
                "cookie"},
               {"backends{}.sticky.cookie",
                Type::text,
                "",
                "The session cookie, such as JSESSIONID.",
                &store_cookie,
                {},
                {},
                {},
                Presence::required},
               {"backends{}.sticky.path_parameter", Type::text, "",
                "The session's path parameter; the cookie's name in lower case unless given.", &store_path_parameter},
               {"backends{}.secret", Type::secret, "",
                "The secret AJP servers ask for; better from `secret_file` or `${ENV}`.", &store_secret},
               {"backends{}.secret_file", Type::text, "",
                "A file that holds the secret; relative to the configuration file.", &store_secret_file},
               {"backends{}.packet_size",
                Type::size,
                "8KiB",
                "The largest AJP packet, in steps of 1 KiB; the server's packetSize must be equal.",
                &store_packet_size,
                {8192, 65536}}});
}

void append_pool_keys(std::vector<Key>& keys) {
  keys.insert(
      keys.end(),
      {{"backends{}.connections", Type::group, "", "Connections to each server, counted for the whole process."},
       {"backends{}.connections.max",
        Type::integer,
        "200",
        "Open at once.",
        +[](Target& t) -> int& { return t.backend->connections.max; },
        {1, 100'000}},
       {"backends{}.connections.idle",
        Type::integer,
        "50",
        "Kept open without a request.",
        +[](Target& t) -> int& { return t.backend->connections.idle; },
        {0, 100'000}},
       {"backends{}.connections.idle_timeout",
        Type::duration,
        "30s",
        "How long; keep it under the server's own.",
        +[](Target& t) -> M { return t.backend->connections.idle_timeout; },
        {1, kDay}},
       {"backends{}.queue", Type::group, "", "Requests that wait for a connection of a server at its maximum."},
       {"backends{}.queue.length",
        Type::integer,
        "500",
        "How many; the next is 503.",
        +[](Target& t) -> int& { return t.backend->queue.length; },
        {0, 1'000'000}},
       {"backends{}.queue.timeout",
        Type::duration,
        "2s",
        "How long; then 503.",
        +[](Target& t) -> M { return t.backend->queue.timeout; },
        {1, kDay}},
       {"backends{}.send_proxy",
        Type::choice,
        "off",
        "Begin each connection with a PROXY header of this version, which tells the client's address; it is then used "
        "for one request only.",
        &store_send_proxy,
        {},
        {"off", "v1", "v2"}}});
}

void append_patience_keys(std::vector<Key>& keys) {
  keys.insert(keys.end(), {{"backends{}.timeouts", Type::group, "", "How patient the gateway is with servers."},
                           {"backends{}.timeouts.connect",
                            Type::duration,
                            "1s",
                            "For a new connection.",
                            +[](Target& t) -> M { return t.backend->timeouts.connect; },
                            {1, kDay}},
                           {"backends{}.timeouts.first_byte",
                            Type::duration,
                            "30s",
                            "From the end of the request to the first byte of the response.",
                            +[](Target& t) -> M { return t.backend->timeouts.first_byte; },
                            {1, kDay}},
                           {"backends{}.timeouts.idle",
                            Type::duration,
                            "60s",
                            "Between bytes of a body, either way.",
                            +[](Target& t) -> M { return t.backend->timeouts.idle; },
                            {1, kDay}},
                           {"backends{}.timeouts.cping",
                            Type::duration,
                            "2s",
                            "For the answer to an AJP CPing.",
                            +[](Target& t) -> M { return t.backend->timeouts.cping; },
                            {1, kDay}},
                           {"backends{}.retry", Type::group, "", "Trying another server when it is safe."},
                           {"backends{}.retry.attempts",
                            Type::integer,
                            "2",
                            "Attempts in all.",
                            +[](Target& t) -> int& { return t.backend->retry.attempts; },
                            {1, 3}},
                           {"backends{}.retry.budget",
                            Type::percent,
                            "20%",
                            "Retries may add so much to the requests of the backend.",
                            +[](Target& t) -> int& { return t.backend->retry.budget_percent; },
                            {0, 100}}});
}

}  // namespace

void append_backend_keys(std::vector<Key>& keys) {
  keys.insert(
      keys.end(),
      {{"backends", Type::record_map, "", "Named sets of application servers.", &begin_backend},
       {"backends{}.servers",
        Type::records,
        "",
        "The servers of the backend; at least one.",
        &begin_server,
        {},
        {},
        "url",
        Presence::required},
       {"backends{}.servers[].url",
        Type::text,
        "",
        "`http://HOST[:80]`, `https://HOST[:443]`, `ajp://HOST[:8009]`, `fastcgi://HOST[:9000]`, `scgi://HOST[:4000]`, "
        "`uwsgi://HOST[:3031]`, or each as `SCHEME+unix:/path`.",
        &store_url,
        {},
        {},
        {},
        Presence::required},
       {"backends{}.servers[].name", Type::text, "",
        "Its label in metrics and, with `sticky`, its jvmRoute; host and port unless given.", &store_server_name},
       {"backends{}.servers[].weight",
        Type::integer,
        "1",
        "Its share of new sessions; 0 takes only the sessions it has.",
        +[](Target& t) -> int& { return t.server->weight; },
        {0, 1000}}});
  append_session_keys(keys);
  append_cgi_keys(keys);
  append_pool_keys(keys);
  append_patience_keys(keys);
}

}  // namespace pontage::config
