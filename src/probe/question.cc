#include "src/probe/question.h"

#include <algorithm>

#include "protocols/message/target.h"
#include "src/routing/rewrite.h"

namespace pontage::probe {
namespace {

const config::Route* first_route(const config::Config& config, const std::string& backend) {
  const auto leads_there = [&](const config::Route& route) {
    const auto* proxy = std::get_if<config::ProxyAction>(&route.action);
    return proxy != nullptr && proxy->backend == backend;
  };
  const auto found = std::find_if(config.routes.begin(), config.routes.end(), leads_there);
  return found == config.routes.end() ? nullptr : &*found;
}

// A path that "/x/*" or "/x" matches; no regular expression gives one.
std::string path_of(const config::Route& route) {
  for (std::string path : route.match.paths) {
    if (path.starts_with('~')) continue;
    if (path.ends_with('*')) path.pop_back();
    if (path.starts_with('/')) return path;
  }
  return "/";
}

std::string host_of(const config::Route* route, const config::ServerUrl& url) {
  if (route != nullptr && !route->match.hosts.empty()) {
    const std::string& host = route->match.hosts.front();
    return host.starts_with("*.") ? "probe" + host.substr(1) : host;
  }
  if (url.host.empty()) return "localhost";
  const bool v6 = url.host.find(':') != std::string::npos;
  return (v6 ? "[" + url.host + "]" : url.host) + ":" + std::to_string(url.port);
}

}  // namespace

Question question_for(const config::Config& config, const config::Backend& backend, const config::ServerUrl& url,
                      std::string_view path) {
  const config::Route* route = first_route(config, backend.name);
  Question question{.host = host_of(route, url), .path = std::string(path), .forward_path = {}, .request_headers = {}};
  if (question.path.empty()) question.path = route != nullptr ? path_of(*route) : "/";
  question.forward_path = question.path;
  message::Arena arena;
  const auto slashes = config.merge_slashes ? message::Slashes::merge : message::Slashes::keep;
  const auto target = message::parse_target(question.path, message::Method::head);
  if (!target) return question;
  question.forward_path = target->raw_path;
  const auto canonical = message::canonical_path(target->raw_path, slashes, arena);
  if (!canonical) return question;
  question.forward_path = canonical->path;
  if (route == nullptr) return question;
  question.request_headers = route->request_headers;
  const auto rewritten = routing::Rewriter(route->rewrite).apply(*canonical, arena);
  if (rewritten) question.forward_path = rewritten->path;
  return question;
}

}  // namespace pontage::probe
