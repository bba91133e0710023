#include "src/gateway/site_builder.h"

#include <algorithm>
#include <atomic>

#include "src/handlers/cgi.h"
#include "src/handlers/compress.h"
#include "src/handlers/files.h"
#include "src/handlers/fixed.h"
#include "src/handlers/proxy.h"

namespace pontage::gateway {
namespace {

using observe::Family;

// Every files action of every generation has its own number in the file cache, so that a changed root never finds
// another's entries.
std::uint32_t next_files_id() {
  static std::atomic<std::uint32_t> next{1};
  return next.fetch_add(1);
}

// The last who holds the policy, a site or a look-up under way, takes what is known of its files along.
std::shared_ptr<const handlers::FilesPolicy> make_files_policy(const config::FilesAction& action,
                                                               const config::Compression& compression,
                                                               const std::shared_ptr<FileStore>& store) {
  auto forget = [store](const handlers::FilesPolicy* policy) {
    const std::uint32_t root = policy->root().id;
    delete policy;
    store->watcher.forget(root);
    store->files.remove_root(root);
  };
  return {new handlers::FilesPolicy(action, compression, next_files_id()), std::move(forget)};
}

std::string_view adapter_of(const upstream::Backend* backend) {
  return backend == nullptr || backend->servers().empty() ? std::string_view("none")
                                                          : backend->servers().front()->adapter_name();
}

// Whose work a route's requests are: a backend's, its own processes', or nobody's.
struct Worked {
  std::string backend;  // empty: none
  std::string_view adapter = "none";
};

// A route that runs programs is a backend of its own in metrics.
Worked worked_by(const config::Route& route, const upstream::Backend* backend) {
  if (std::holds_alternative<config::CgiAction>(route.action)) return {"cgi:" + route.name, "cgi"};
  if (backend == nullptr) return {};
  return {backend->name(), adapter_of(backend)};
}

routing::RouteSeries series_for(observe::Metrics& metrics, std::string_view route, const Worked& worked) {
  const std::string_view adapter = worked.adapter;
  routing::RouteSeries series;
  series.id = metrics.intern_route(route);
  series.backend_id = metrics.intern_backend(worked.backend);
  series.duration = metrics.histogram(Family::request_duration_seconds, route);
  series.toll = metrics.histogram(Family::toll_seconds, route, adapter);
  series.toll_cpu = metrics.counter(Family::toll_cpu_seconds_total, adapter);
  for (std::size_t i = 0; i < observe::kPhases; ++i) {
    series.phases[i] = metrics.histogram(Family::phase_duration_seconds, route, adapter,
                                         observe::to_string(static_cast<observe::Phase>(i)));
  }
  return series;
}

upstream::ProcessSeries process_series(observe::Metrics& metrics, const std::string& backend) {
  const auto ends = [&](std::string_view how) {
    return metrics.counter(Family::backend_processes_total, backend, how);
  };
  return {.exited = ends("exited"), .failed = ends("failed"), .signal = ends("signal"), .killed = ends("killed")};
}

// What bounds and counts the processes of a route.
upstream::ServerSettings process_settings(const config::CgiAction& action, const config::Config& config) {
  upstream::ServerSettings settings;
  settings.url.adapter = config::Adapter::cgi;
  settings.name = "cgi";
  settings.timeouts.first_byte = action.timeouts.first_byte;
  settings.timeouts.idle = action.timeouts.idle;
  settings.pool = {.max = action.max,
                   .idle = 0,
                   .queue = action.queue.length,
                   .queue_ms = config::ms(action.queue.timeout),
                   .idle_ms = 0};
  settings.response_limits = config.limits;
  return settings;
}

// The route's word, else the backend's. Else a server that holds a process for each request gets whole bodies only
// (ADAPTERS F13), one that holds a thread is spared slow ones, and HTTP servers are expected to bear them.
config::Buffering buffering_of(const config::Route& route, const upstream::Backend& backend) {
  if (route.request_buffering) return *route.request_buffering;
  if (backend.config().request_buffering) return *backend.config().request_buffering;
  if (backend.speaks_cgi()) return config::Buffering::on;
  const auto& servers = backend.config().servers;
  const bool any_ajp = std::any_of(servers.begin(), servers.end(), [](const config::Server& server) {
    return server.url.adapter == config::Adapter::ajp;
  });
  return any_ajp ? config::Buffering::automatic : config::Buffering::off;
}

struct HandlerMaker {
  const config::Route& route;
  const routing::Site& site;
  SiteParts& parts;
  const std::shared_ptr<const upstream::Backend>& backend;

  std::unique_ptr<http::Handler> operator()(const config::FilesAction& action) const {
    return std::make_unique<handlers::FilesHandler>(make_files_policy(action, route.compression, parts.store),
                                                    cache::Keeping{&parts.store->files, &parts.store->watcher},
                                                    parts.blocking);
  }
  std::unique_ptr<http::Handler> operator()(const config::ProxyAction&) const {
    return std::make_unique<handlers::ProxyHandler>(
        backend, site.forwarding, parts.blocking,
        handlers::ProxyOptions{.buffering = buffering_of(route, *backend),
                               .answers = {route.response_buffering.value_or(backend->config().response_buffering),
                                           site.config.spool.response},
                               .spool = {site.config.spool.folder, static_cast<std::size_t>(site.config.spool.memory)},
                               .retry_non_idempotent = route.retry_non_idempotent,
                               .request_headers = route.request_headers});
  }
  std::unique_ptr<http::Handler> operator()(const config::CgiAction& action) const {
    const std::string label = worked_by(route, nullptr).backend;
    const std::string_view path = route.match.paths.size() == 1 ? route.match.paths.front() : std::string_view{};
    return std::make_unique<handlers::CgiHandler>(
        handlers::make_cgi_policy(action, path, process_series(parts.metrics, label)),
        parts.registry.processes(label, process_settings(action, site.config)), site.forwarding,
        handlers::CgiHandler::Tools{parts.blocking, parts.launches, parts.launcher},
        handlers::CgiOptions{
            .buffering = route.request_buffering.value_or(config::Buffering::on),
            .answers = {route.response_buffering.value_or(config::Buffering::automatic), site.config.spool.response},
            .spool = {site.config.spool.folder, static_cast<std::size_t>(site.config.spool.memory)},
            .request_headers = route.request_headers});
  }
  std::unique_ptr<http::Handler> operator()(const config::RedirectAction& action) const {
    return std::make_unique<handlers::RedirectHandler>(action);
  }
  std::unique_ptr<http::Handler> operator()(const config::RespondAction& action) const {
    return std::make_unique<handlers::RespondHandler>(action);
  }
};

std::shared_ptr<const upstream::Backend> find_backend(const routing::Site& site, const config::Route& route) {
  const auto* proxy = std::get_if<config::ProxyAction>(&route.action);
  if (proxy == nullptr) return nullptr;
  for (const auto& backend : site.backends) {
    if (backend->name() == proxy->backend) return backend;
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<const routing::Site> build_site(const config::Config& config, SiteParts parts,
                                                std::uint64_t generation) {
  auto site = std::make_shared<routing::Site>(routing::Site{.config = config,
                                                            .table = routing::RouteTable(config),
                                                            .routes = {},
                                                            .forwarding = {},
                                                            .backends = {},
                                                            .no_route = {},
                                                            .generation = generation});
  for (auto& backend : site->config.backends) backend.secret.clear();  // the servers keep it
  auto forwarding = std::make_shared<http::ForwardingPolicy>();
  forwarding->rfc7239 = config.forwarded;
  for (const auto& text : config.trusted_proxies) {
    if (const auto network = net::Network::parse(text)) forwarding->trusted.push_back(*network);
  }
  site->forwarding = std::move(forwarding);
  site->backends = parts.registry.bind(config);
  site->no_route = series_for(parts.metrics, "none", {});
  for (const auto& route : site->config.routes) {
    const auto backend = find_backend(*site, route);
    routing::Route made;
    made.name = route.name;
    const Worked worked = worked_by(route, backend.get());
    made.backend = worked.backend;
    made.handler = std::visit(HandlerMaker{route, *site, parts, backend}, route.action);
    if (!route.compression.codings.empty()) {
      made.handler = std::make_unique<handlers::CompressHandler>(std::move(made.handler), route.compression);
    }
    made.rewrite = routing::Rewriter(route.rewrite);
    made.response_headers = route.response_headers;
    made.body_limit = route.body_limit.value_or(config.limits.body);
    made.encoded_slash = route.encoded_slash;
    made.backslash = route.backslash;
    made.nul = route.nul;
    made.series = series_for(parts.metrics, route.name, worked);
    site->routes.push_back(std::move(made));
  }
  return site;
}

}  // namespace pontage::gateway
