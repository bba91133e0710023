#include "src/config/check.h"

#include <algorithm>
#include <map>
#include <set>

#include "src/config/addresses.h"

namespace pontage::config {
namespace {

bool takes_any_port(const std::string& bind) {
  return bind.ends_with(":0");
}

std::string path_of(const Backend& backend) {
  return "backends." + backend.name;
}

std::string path_of(const Backend& backend, std::size_t server) {
  return path_of(backend) + ".servers[" + std::to_string(server) + "]";
}

// Proxies that can never be among the listener's clients; what sockets are handed over is not known yet.
void check_proxies(const Listener& listener, Problems& problems) {
  if (listener.proxy_trust.empty() || listener.bind.starts_with(kInherited)) return;
  const bool unix_socket = listener.bind.starts_with("unix:");
  const auto fits = [unix_socket](const std::string& text) { return (text == "unix") == unix_socket; };
  if (std::any_of(listener.proxy_trust.begin(), listener.proxy_trust.end(), fits)) return;
  problems.warning(listener.place, unix_socket ? "`trust` has no effect on a unix socket unless `unix` is in it"
                                               : "`trust: unix` has no effect on `" + listener.bind + "`");
}

bool is_used(const Config& config, const std::string& backend) {
  return std::any_of(config.routes.begin(), config.routes.end(), [&](const Route& route) {
    const auto* proxy = std::get_if<ProxyAction>(&route.action);
    return proxy != nullptr && proxy->backend == backend;
  });
}

void check_names(const Backend& backend, const Places& places, Problems& problems) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < backend.servers.size(); ++i) {
    const auto& server = backend.servers[i];
    if (server.name.empty() || names.insert(server.name).second) continue;
    problems.error(place_in(places, path_of(backend, i) + (server.named ? ".name" : "")),
                   "two servers of `" + backend.name + "` are called `" + server.name + "`");
  }
  if (backend.sticky.cookie.empty()) return;
  for (std::size_t i = 0; i < backend.servers.size(); ++i) {
    if (backend.servers[i].named) continue;
    problems.warning(
        place_in(places, path_of(backend, i)),
        "with `sticky` this server needs a `name`, equal to its jvmRoute, or its sessions are not recognised");
  }
}

void check_secret(const Backend& backend, const Places& places, Problems& problems) {
  const auto path = path_of(backend);
  if (places.contains(path + ".secret") && places.contains(path + ".secret_file")) {
    problems.error(place_in(places, path + ".secret_file"), "`secret` and `secret_file` exclude each other");
  }
  const auto is_ajp = [](const Server& server) { return server.url.adapter == Adapter::ajp; };
  if (!backend.secret.empty()) {
    if (std::none_of(backend.servers.begin(), backend.servers.end(), is_ajp)) {
      problems.warning(place_in(places, path), "`" + backend.name + "` has a secret, but no AJP server to send it to");
    }
    return;
  }
  if (places.contains(path + ".secret") || places.contains(path + ".secret_file")) return;
  for (std::size_t i = 0; i < backend.servers.size(); ++i) {
    const auto& server = backend.servers[i];
    if (!is_ajp(server) || server.url.text.empty() || is_loopback(server.url)) continue;
    problems.warning(place_in(places, path_of(backend, i) + ".url"),
                     "AJP leaves this machine without a `secret`: whoever reaches that port can pose as any user");
  }
}

// A key that no server of the backend takes notice of: allowed, for servers change, but surely meant otherwise.
void check_adapter_keys(const Backend& backend, const Places& places, Problems& problems) {
  const auto warn_without = [&](const char* key, const char* who, bool (*listens)(const Server&)) {
    const auto path = path_of(backend) + "." + key;
    if (!places.contains(path) || std::any_of(backend.servers.begin(), backend.servers.end(), listens)) return;
    problems.warning(place_in(places, path),
                     "`" + std::string(key) + "` has no effect: `" + backend.name + "` has no " + who + " server");
  };
  const auto cgi = +[](const Server& server) { return speaks_cgi(server.url.adapter); };
  for (const char* key : {"document_root", "index", "extensions", "script", "script_name", "params", "underscored"}) {
    warn_without(key, "FastCGI, SCGI or uwsgi", cgi);
  }
  warn_without("keep_alive", "FastCGI", [](const Server& s) { return s.url.adapter == Adapter::fastcgi; });
  warn_without("max_vars", "uwsgi", [](const Server& s) { return s.url.adapter == Adapter::uwsgi; });
  warn_without("packet_size", "AJP", [](const Server& s) { return s.url.adapter == Adapter::ajp; });
  const bool scripts = !backend.cgi.document_root.empty() || !backend.cgi.script.empty();
  for (const char* key : {"index", "extensions"}) {
    const auto path = path_of(backend) + "." + key;
    if (!places.contains(path) || !backend.cgi.document_root.empty()) continue;
    problems.warning(place_in(places, path), "`" + std::string(key) + "` has no effect without `document_root`");
  }
  if (!backend.cgi.script.empty() && !backend.cgi.script.starts_with('/') && backend.cgi.document_root.empty()) {
    problems.error(place_in(places, path_of(backend) + ".script"),
                   "a `script` is an absolute path, or there is a `document_root` that it is below");
  }
  const auto path = path_of(backend) + ".script_name";
  if (places.contains(path) && scripts && !backend.cgi.script.starts_with('/')) {
    problems.warning(place_in(places, path),
                     "`script_name` has no effect with `document_root`: the path, or `script`, names the script");
  }
}

}  // namespace

Place place_in(const Places& places, std::string path) {
  for (;;) {
    const auto found = places.find(path);
    if (found != places.end()) return found->second;
    const auto end = path.find_last_of(".[");
    if (end == std::string::npos) return {1, 1};
    path.resize(end);
  }
}

void check_listeners(const Config& config, const Places& places, Problems& problems) {
  if (config.listeners.empty() && places.contains("listeners")) {
    problems.error(place_in(places, "listeners"), "at least one listener is needed, such as `listeners: [\":8080\"]`");
  }
  std::set<std::string> binds;
  for (const auto& listener : config.listeners) {
    check_proxies(listener, problems);
    if (listener.bind.empty() || takes_any_port(listener.bind) || binds.insert(listener.bind).second) continue;
    problems.error(listener.place, "`" + listener.bind + "` is listened on twice");
  }
  if (!config.admin.empty() && binds.contains(config.admin)) {
    problems.error(config.admin_place, "the admin address `" + config.admin + "` is a listener's, too");
  }
  if (config.access_log.format != AccessLog::Format::off && config.access_log.file.empty()) {
    problems.error(place_in(places, "access_log.format"), "an access log with a `format` needs a `file`");
  }
}

void check_backends(const Config& config, const Places& places, Problems& problems) {
  for (const auto& backend : config.backends) {
    const auto path = path_of(backend);
    if (backend.servers.empty() && places.contains(path + ".servers")) {
      problems.error(place_in(places, path + ".servers"), "the backend `" + backend.name + "` has no servers");
    }
    check_names(backend, places, problems);
    check_secret(backend, places, problems);
    check_adapter_keys(backend, places, problems);
    const bool no_weight =
        std::all_of(backend.servers.begin(), backend.servers.end(), [](const Server& s) { return s.weight == 0; });
    if (no_weight && !backend.servers.empty()) {
      problems.warning(place_in(places, path),
                       "every server of `" + backend.name + "` has weight 0: none takes new sessions");
    }
    if (!is_used(config, backend.name)) {
      problems.warning(place_in(places, path), "no route uses the backend `" + backend.name + "`");
    }
  }
}

}  // namespace pontage::config
