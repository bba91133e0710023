// The keys of the whole gateway and of its listeners.
#include "src/config/addresses.h"
#include "src/config/table.h"

namespace pontage::config {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

std::string check_networks(Target& target, const Value& value) {
  for (const auto& text : value.texts) {
    if (auto error = network_error(text); !error.empty()) return "`" + text + "`: " + error;
  }
  target.config->trusted_proxies = value.texts;
  return {};
}

std::string store_admin(Target& target, const Value& value) {
  target.config->admin = value.text;
  target.config->admin_place = value.place;
  return value.text.empty() ? std::string{} : bind_error(value.text);
}

std::string store_control(Target& target, const Value& value) {
  target.config->control = value.text;
  if (value.text.empty()) return {};
  return value.text.front() == '/' ? bind_error("unix:" + value.text) : "a control socket needs an absolute path";
}

// `access_log: off`, `access_log: /path` and the `file` of the long form. A file alone means the combined format.
std::string store_log_file(Target& target, const Value& value) {
  auto& log = target.config->access_log;
  if (value.text == "off") {
    log = AccessLog{};
    return {};
  }
  if (value.text.empty()) return "expected a file's path, or `off`";
  log.file = value.text;
  if (log.format == AccessLog::Format::off) log.format = AccessLog::Format::combined;
  return {};
}

std::string store_log_format(Target& target, const Value& value) {
  target.config->access_log.format = value.number == 0 ? AccessLog::Format::combined : AccessLog::Format::json;
  return {};
}

std::string begin_listener(Target& target, const Value& value) {
  target.listener = &target.config->listeners.emplace_back();
  target.listener->place = value.place;
  return {};
}

std::string store_bind(Target& target, const Value& value) {
  target.listener->bind = value.text;
  target.listener->place = value.place;
  if (target.listener->name.empty()) target.listener->name = value.text;
  return value.text.starts_with(kInherited) ? inherited_name_error(value.text.substr(kInherited.size()))
                                            : bind_error(value.text);
}

std::string store_proxy_trust(Target& target, const Value& value) {
  if (value.texts.empty()) return "at least one address or block is needed, or `unix`";
  for (const auto& text : value.texts) {
    if (text == "unix") continue;
    if (auto error = network_error(text); !error.empty()) return "`" + text + "`: " + error + ", or `unix`";
  }
  target.listener->proxy_trust = value.texts;
  return {};
}

std::string store_listener_name(Target& target, const Value& value) {
  target.listener->name = value.text;
  return value.text.empty() ? "a listener's name cannot be empty" : std::string{};
}

std::string store_half_close(Target& target, const Value& value) {
  target.listener->half_close = static_cast<Listener::HalfClose>(value.number);
  return {};
}

using M = Millis&;
using U = std::uint64_t&;

void append_process_keys(std::vector<Key>& keys) {
  keys.insert(
      keys.end(),
      {{"workers",
        Type::integer,
        "auto",
        "Threads that serve; `auto` is one for each CPU this process may use. Changing it needs a restart.",
        +[](Target& t) -> int& { return t.config->workers; },
        {1, 1024},
        {"auto"}},
       {"user", Type::text, "", "The user to become after binding; stays as it is unless given.",
        +[](Target& t) -> std::string& { return t.config->user; }},
       {"control", Type::text, "",
        "The unix socket (mode 0600) of reload, stop, status and explain; none unless given.", &store_control},
       {"trusted_proxies", Type::texts, "[]",
        "Addresses or blocks whose X-Forwarded-* and Forwarded fields are believed.", &check_networks},
       {"merge_slashes", Type::boolean, "true", "Whether `//` in a path counts as `/`, for routes and servers alike.",
        +[](Target& t) -> bool& { return t.config->merge_slashes; }},
       {"forwarded", Type::boolean, "false", "Whether servers also get the Forwarded field of RFC 7239.",
        +[](Target& t) -> bool& { return t.config->forwarded; }},
       {"admin", Type::text, "", "The address of /metrics, /healthz and /readyz; none unless given. Keep it private.",
        &store_admin},
       {"access_log",
        Type::group,
        "off",
        "Where requests are logged: `off`, a file, or a file with a format.",
        {},
        {},
        {},
        "file"},
       {"access_log.file", Type::text, "", "A path, or /dev/stdout.", &store_log_file},
       {"access_log.format",
        Type::choice,
        "combined",
        "Apache's combined format, or one JSON object a line.",
        &store_log_format,
        {},
        {"combined", "json"}},
       {"shutdown", Type::group, "", "How the gateway stops."},
       {"shutdown.delay",
        Type::duration,
        "0s",
        "How long /readyz says 503 while requests are still accepted.",
        +[](Target& t) -> M { return t.config->shutdown.delay; },
        {0, kDay}},
       {"shutdown.deadline",
        Type::duration,
        "30s",
        "How long open requests may take after that.",
        +[](Target& t) -> M { return t.config->shutdown.deadline; },
        {0, kDay}}});
}

void append_client_keys(std::vector<Key>& keys) {
  keys.insert(keys.end(), {{"client", Type::group, "", "How patient the gateway is with clients."},
                           {"client.head",
                            Type::duration,
                            "10s",
                            "For a whole request head.",
                            +[](Target& t) -> M { return t.config->client.head; },
                            {1, kDay}},
                           {"client.body_idle",
                            Type::duration,
                            "30s",
                            "Between bytes of a request body.",
                            +[](Target& t) -> M { return t.config->client.body_idle; },
                            {1, kDay}},
                           {"client.keep_alive",
                            Type::duration,
                            "60s",
                            "Between requests of a connection.",
                            +[](Target& t) -> M { return t.config->client.keep_alive; },
                            {1, kDay}},
                           {"client.send_idle",
                            Type::duration,
                            "60s",
                            "Between bytes that the client accepts.",
                            +[](Target& t) -> M { return t.config->client.send_idle; },
                            {1, kDay}},
                           {"client.min_rate",
                            Type::rate,
                            "240B/s",
                            "The slowest request body, after a grace of 5 s; 0 switches it off.",
                            +[](Target& t) -> U { return t.config->client.min_rate; },
                            {0, 1024 * kMiB}}});
}

void append_limit_keys(std::vector<Key>& keys) {
  keys.insert(keys.end(), {{"limits", Type::group, "", "The largest requests that are served."},
                           {"limits.request_line",
                            Type::size,
                            "8KiB",
                            "Method, target and version together; more is 414.",
                            +[](Target& t) -> U { return t.config->limits.request_line; },
                            {256, kMiB}},
                           {"limits.header",
                            Type::size,
                            "16KiB",
                            "One field; more is 431.",
                            +[](Target& t) -> U { return t.config->limits.header; },
                            {256, kMiB}},
                           {"limits.headers",
                            Type::size,
                            "64KiB",
                            "All fields together; more is 431.",
                            +[](Target& t) -> U { return t.config->limits.headers; },
                            {256, 16 * kMiB}},
                           {"limits.header_count",
                            Type::integer,
                            "100",
                            "Fields of a request; more is 431.",
                            +[](Target& t) -> U { return t.config->limits.header_count; },
                            {1, 10'000}},
                           {"limits.body",
                            Type::size,
                            "1GiB",
                            "A request body; more is 413. Routes may set their own.",
                            +[](Target& t) -> U { return t.config->limits.body; },
                            {0, INT64_MAX}},
                           {"limits.connections",
                            Type::integer,
                            "50000",
                            "Client connections open at once.",
                            +[](Target& t) -> int& { return t.config->limits.connections; },
                            {1, 10'000'000}},
                           {"limits.streams",
                            Type::integer,
                            "128",
                            "Requests at once on one HTTP/2 connection.",
                            +[](Target& t) -> int& { return t.config->limits.streams; },
                            {1, 4096}},
                           {"limits.stream_buffer",
                            Type::size,
                            "256KiB",
                            "Bytes of a request body on HTTP/2 that wait to be used; more the client must hold back.",
                            +[](Target& t) -> U { return t.config->limits.stream_buffer; },
                            {1024, 16 * kMiB}},
                           {"static_cache", Type::group, "", "Files kept in memory, shared by all routes."},
                           {"static_cache.memory",
                            Type::size,
                            "256MiB",
                            "All of it; 0 switches it off.",
                            +[](Target& t) -> U { return t.config->static_cache.memory; },
                            {0, INT64_MAX}},
                           {"static_cache.max_file",
                            Type::size,
                            "1MiB",
                            "The largest file kept; larger ones are sent from the disk.",
                            +[](Target& t) -> U { return t.config->static_cache.max_file; },
                            {0, INT64_MAX}},
                           {"static_cache.recheck",
                            Type::duration,
                            "1s",
                            "How long a kept file is trusted before the disk is looked at.",
                            +[](Target& t) -> M { return t.config->static_cache.recheck; },
                            {0, kDay}}});
}

}  // namespace

void append_global_keys(std::vector<Key>& keys) {
  append_process_keys(keys);
  append_client_keys(keys);
  append_limit_keys(keys);
  keys.insert(
      keys.end(),
      {{"listeners",
        Type::records,
        "",
        "Addresses that accept connections; at least one.",
        &begin_listener,
        {},
        {},
        "bind",
        Presence::required},
       {"listeners[].bind",
        Type::text,
        "",
        "`:80`, `127.0.0.1:80`, `[::1]:80`, `unix:/path`; port 0 takes any free one. `fd:NAME`: the sockets of that "
        "name "
        "that the service manager hands over.",
        &store_bind,
        {},
        {},
        {},
        Presence::required},
       {"listeners[].name", Type::text, "", "Its label in metrics; the address unless given.", &store_listener_name},
       {"listeners[].half_close",
        Type::choice,
        "refuse",
        "Whether a client may close its sending side and still read the answer.",
        &store_half_close,
        {},
        {"refuse", "allow"}},
       {"listeners[].http2", Type::boolean, "true",
        "Whether clients may speak HTTP/2: over TLS by ALPN, in the clear by beginning with its preface.",
        +[](Target& t) -> bool& { return t.listener->http2; }},
       {"listeners[].proxy_protocol",
        Type::group,
        "",
        "Proxies before this listener that tell who the client is in a PROXY header, version 1 or 2: their addresses.",
        {},
        {},
        {},
        "trust"},
       {"listeners[].proxy_protocol.trust",
        Type::texts,
        "",
        "Addresses or blocks that must begin each connection with a header, and `unix` for clients of unix sockets.",
        &store_proxy_trust,
        {},
        {},
        {},
        Presence::required}});
}

}  // namespace pontage::config
