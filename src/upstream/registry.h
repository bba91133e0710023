// Registry: the servers of all backends, which outlive configurations. A reload asks for the servers it names: known
// ones (same backend, name and URL) come back with their pools, counters and health; those no longer named are retired.
// Control thread only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/config/config.h"
#include "src/net/resolver.h"
#include "src/observe/metrics.h"
#include "src/upstream/backend.h"

namespace pontage::upstream {

// What the adapters need to know of one server of a configuration.
ServerSettings settings_of(const config::Config& config, const config::Backend& backend, const config::Server& server);

class Registry {
 public:
  Registry(std::vector<net::Reactor*> workers, observe::Metrics& metrics, net::Resolver& resolver);
  ~Registry();

  // The backends of a configuration, in its order. Servers it shares with the present one take its settings at once.
  std::vector<std::shared_ptr<const Backend>> bind(const config::Config& config);
  // What counts and bounds the processes of a route that runs programs: a server of one adapter's kind without an
  // address. Belongs to the present bind(), as its servers do.
  std::shared_ptr<BackendServer> processes(const std::string& name, ServerSettings settings);
  // Everything that was not named by the last bind() is retired: idle connections close, busy ones after their
  // exchange.
  void retire_unnamed();
  // Closes every idle connection, for the end of the process.
  void retire_all();

 private:
  struct Entry {
    std::shared_ptr<BackendServer> server;
    std::uint64_t watch = 0;
    std::uint64_t named = 0;  // the last bind() that wanted it
  };
  std::shared_ptr<BackendServer> server_for(const config::Config& config, const config::Backend& backend,
                                            const config::Server& server, std::shared_ptr<net::TlsClient>& tls);

  std::vector<net::Reactor*> workers_;
  observe::Metrics* metrics_;
  net::Resolver* resolver_;
  std::map<std::string, Entry> entries_;
  std::uint64_t round_ = 0;
};

}  // namespace pontage::upstream
