// The checks of routes.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocols/message/status.h"
#include "src/config/check.h"
#include "src/config/scalars.h"

namespace pontage::config {
namespace {

std::string path_of(std::size_t route) {
  return "routes[" + std::to_string(route) + "]";
}

bool covers_host(const std::string& earlier, const std::string& later) {
  if (earlier == later) return true;
  if (!earlier.starts_with("*.")) return false;
  const auto suffix = earlier.substr(1);
  const auto name = later.starts_with("*.") ? later.substr(1) : later;
  return name.size() > suffix.size() && name.ends_with(suffix);
}

bool covers_path(const std::string& earlier, const std::string& later) {
  if (earlier == later || earlier == "/*") return true;
  if (!earlier.ends_with("/*") || earlier.starts_with('~') || later.starts_with('~')) return false;
  const auto below = earlier.substr(0, earlier.size() - 1);
  return later.starts_with(below) || later + "/" == below;
}

// Every element of `later` is covered by one of `earlier`; an empty list stands for everything.
template <class Covers>
bool covers_all(const std::vector<std::string>& earlier, const std::vector<std::string>& later, Covers&& one_covers) {
  if (earlier.empty()) return true;
  return !later.empty() && std::all_of(later.begin(), later.end(), [&](const std::string& l) {
    return std::any_of(earlier.begin(), earlier.end(), [&](const std::string& e) { return one_covers(e, l); });
  });
}

void check_proxy(const Config& config, const ProxyAction& proxy, Place place, Problems& problems) {
  if (proxy.backend.empty()) return;
  const Backend* near = nullptr;
  for (const auto& backend : config.backends) {
    if (backend.name == proxy.backend) return;
    const bool is_near =
        proxy.backend.size() <= 64 && edit_distance(backend.name, proxy.backend) <= backend.name.size() / 3 + 1;
    if (is_near && near == nullptr) near = &backend;
  }
  std::string message = "there is no backend `" + proxy.backend + "`";
  if (near != nullptr) message += "; did you mean `" + near->name + "`?";
  problems.error(place, std::move(message));
}

void check_folder(const std::string& root, Place place, Problems& problems) {
  if (root.empty()) return;
  struct stat status {};
  if (::stat(root.c_str(), &status) != 0) {
    problems.warning(place, "the folder `" + root + "` cannot be found: " + std::strerror(errno));
  } else if (!S_ISDIR(status.st_mode)) {
    problems.warning(place, "`" + root + "` is no folder");
  }
}

// Who the scripts run as. Only root may become another user, and a gateway that has given root up is nobody's root.
void check_cgi_user(const Config& config, const CgiAction& cgi, Place place, Problems& problems) {
  if (cgi.user.empty()) {
    if (config.user.empty() && ::geteuid() == 0) {
      problems.warning(place, "scripts would run as root: give the route, or the gateway, a `user`");
    }
    return;
  }
  const passwd* entry = ::getpwnam(cgi.user.c_str());
  if (entry == nullptr) {
    problems.error(place, "there is no user `" + cgi.user + "`");
  } else if (!config.user.empty() && config.user != cgi.user && config.user != "root") {
    problems.error(
        place, "the gateway becomes `" + config.user + "` after binding, and only root can become `" + cgi.user + "`");
  } else if (::geteuid() != 0 && entry->pw_uid != ::geteuid()) {
    problems.warning(place, "only root can become `" + cgi.user + "`: these requests will fail");
  }
}

void check_cgi(const Config& config, std::size_t index, const Places& places, Problems& problems) {
  const auto& cgi = std::get<CgiAction>(config.routes[index].action);
  const auto path = path_of(index) + ".cgi";
  check_folder(cgi.root, place_in(places, path + ".root"), problems);
  check_cgi_user(config, cgi, place_in(places, path + ".user"), problems);
  for (const auto& interpreter : cgi.interpreters) {
    if (::access(interpreter.value.c_str(), X_OK) == 0) continue;
    problems.warning(place_in(places, path + ".interpreters." + interpreter.name),
                     "the program `" + interpreter.value + "` cannot be run: " + std::strerror(errno));
  }
  const auto cpu = cgi.limits.cpu.count();
  if (cpu != 0 && cpu % 1000 != 0) {
    problems.error(place_in(places, path + ".limits.cpu"), "CPU time is limited in whole seconds");
  }
}

void check_cache_rules(const FilesAction& files, Problems& problems) {
  for (const CacheRule& rule : files.cache_rules) {
    if (rule.value.empty() && !rule.max_age && !rule.immutable)
      problems.error(rule.place, "this entry says nothing: give it a `value` or a `max_age`");
    if (rule.expires && !rule.max_age) problems.error(rule.place, "`expires` needs `max_age`");
  }
}

void check_respond(const RespondAction& respond, bool has_status, Place place, Problems& problems) {
  const bool looks_like_code =
      respond.body.size() == 3 && parse_integer(respond.body) && respond.body >= "200" && respond.body <= "599";
  if (!has_status && looks_like_code) {
    problems.error(place, "this would be the body of a 200 response; for a status write `respond: { status: " +
                              respond.body + " }`");
  }
  if (message::forbids_body(respond.status) && !respond.body.empty()) {
    problems.error(place, "a " + std::to_string(respond.status) + " response has no body");
  }
}

void check_action(const Config& config, std::size_t index, const Places& places, Problems& problems) {
  const auto& route = config.routes[index];
  const auto path = path_of(index);
  if (const auto* proxy = std::get_if<ProxyAction>(&route.action)) {
    check_proxy(config, *proxy, place_in(places, path + ".proxy"), problems);
  } else if (const auto* files = std::get_if<FilesAction>(&route.action)) {
    check_folder(files->root, place_in(places, path + ".files.root"), problems);
    check_cache_rules(*files, problems);
  } else if (std::holds_alternative<CgiAction>(route.action)) {
    check_cgi(config, index, places, problems);
  } else if (const auto* respond = std::get_if<RespondAction>(&route.action)) {
    check_respond(*respond, places.contains(path + ".respond.status"), place_in(places, path + ".respond.body"),
                  problems);
  }
  if (route.rewrite.regex.empty() != !places.contains(path + ".rewrite.replacement")) {
    problems.error(place_in(places, path + ".rewrite"), "`regex` and `replacement` need each other");
  }
}

}  // namespace

bool covers(const Match& earlier, const Match& later) {
  if (!earlier.headers.empty() || !earlier.queries.empty() || !earlier.cookies.empty()) return false;
  return covers_all(earlier.hosts, later.hosts, covers_host) && covers_all(earlier.paths, later.paths, covers_path) &&
         covers_all(earlier.methods, later.methods, [](const std::string& e, const std::string& l) { return e == l; });
}

void check_routes(const Config& config, const Places& places, Problems& problems) {
  if (config.routes.empty()) {
    problems.warning(place_in(places, "routes"), "there are no routes: every request is answered with 404");
  }
  for (std::size_t i = 0; i < config.routes.size(); ++i) {
    check_action(config, i, places, problems);
    for (std::size_t j = 0; j < i; ++j) {
      if (!covers(config.routes[j].match, config.routes[i].match)) continue;
      problems.warning(config.routes[i].place, "no request reaches this route: the one in line " +
                                                   std::to_string(config.routes[j].place.line) + " takes them all");
      break;
    }
  }
}

}  // namespace pontage::config
