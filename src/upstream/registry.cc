#include "src/upstream/registry.h"

#include "src/observe/log.h"

namespace pontage::upstream {

ServerSettings settings_of(const config::Config& config, const config::Backend& backend, const config::Server& server) {
  return {.url = server.url,
          .name = server.name,
          .weight = server.weight,
          .secret = backend.secret,
          .packet_size = backend.packet_size,
          .keep_alive = backend.keep_alive,
          .max_vars = backend.max_vars,
          .send_proxy = backend.send_proxy,
          .timeouts = backend.timeouts,
          .pool = {.max = backend.connections.max,
                   .idle = backend.connections.idle,
                   .queue = backend.queue.length,
                   .queue_ms = static_cast<std::uint64_t>(backend.queue.timeout.count()),
                   .idle_ms = static_cast<std::uint64_t>(backend.connections.idle_timeout.count())},
          .response_limits = config.limits};
}

Registry::Registry(std::vector<net::Reactor*> workers, observe::Metrics& metrics, net::Resolver& resolver)
    : workers_(std::move(workers)), metrics_(&metrics), resolver_(&resolver) {}

Registry::~Registry() = default;

std::vector<std::shared_ptr<const Backend>> Registry::bind(const config::Config& config) {
  ++round_;
  std::vector<std::shared_ptr<const Backend>> backends;
  for (const auto& backend : config.backends) {
    std::vector<std::shared_ptr<BackendServer>> servers;
    std::shared_ptr<net::TlsClient> tls;
    for (const auto& server : backend.servers) servers.push_back(server_for(config, backend, server, tls));
    backends.push_back(std::make_shared<Backend>(backend, std::move(servers), workers_.size()));
  }
  return backends;
}

namespace {

// `first`: that of the backend's first server, which has read the files. net::check_tls has found them good a moment
// ago; should they be gone, connections fail until the next reload.
std::shared_ptr<net::TlsClient> tls_for(const config::Backend& backend, const config::Server& server,
                                        std::size_t workers, std::shared_ptr<net::TlsClient>& first) {
  if (first) return first->for_host(backend.tls, server.url.host);
  auto made = net::TlsClient::make(backend.tls, server.url.host, workers);
  if (made) return first = *std::move(made);
  observe::log::error("backend {}: {}", backend.name, made.error());
  return nullptr;
}

}  // namespace

std::shared_ptr<BackendServer> Registry::server_for(const config::Config& config, const config::Backend& backend,
                                                    const config::Server& server,
                                                    std::shared_ptr<net::TlsClient>& tls) {
  ServerSettings settings = settings_of(config, backend, server);
  if (server.url.tls) settings.tls = tls_for(backend, server, workers_.size(), tls);
  Entry& entry = entries_[backend.name + '\n' + server.name + '\n' + server.url.text];
  entry.named = round_;
  if (entry.server) {
    entry.server->apply(std::move(settings));
    return entry.server;
  }
  entry.server = std::make_shared<BackendServer>(backend.name, std::move(settings), workers_, *metrics_);
  const std::weak_ptr<BackendServer> weak = entry.server;
  if (!server.url.unix_path.empty()) {
    if (const auto address = net::Address::from_unix(server.url.unix_path)) entry.server->set_addresses({*address});
  } else {
    entry.watch = resolver_->watch(server.url.host, server.url.port, [weak](std::vector<net::Address> addresses) {
      if (const auto alive = weak.lock()) alive->set_addresses(std::move(addresses));
    });
  }
  return entry.server;
}

std::shared_ptr<BackendServer> Registry::processes(const std::string& name, ServerSettings settings) {
  Entry& entry = entries_[name + "\n\n"];
  entry.named = round_;
  if (entry.server) {
    entry.server->apply(std::move(settings));
  } else {
    entry.server = std::make_shared<BackendServer>(name, std::move(settings), workers_, *metrics_);
  }
  return entry.server;
}

void Registry::retire_unnamed() {
  for (auto at = entries_.begin(); at != entries_.end();) {
    if (at->second.named == round_) {
      ++at;
      continue;
    }
    resolver_->forget(at->second.watch);
    at->second.server->pool().retire();
    at = entries_.erase(at);
  }
}

void Registry::retire_all() {
  ++round_;
  retire_unnamed();
}

}  // namespace pontage::upstream
