// From configuration values to a Site: routes get their handlers, backends their servers, labels their series. Control
// thread.
#pragma once

#include <memory>

#include "src/cache/file_cache.h"
#include "src/cache/load.h"
#include "src/cache/watcher.h"
#include "src/net/blocking_pool.h"
#include "src/observe/metrics.h"
#include "src/routing/site.h"
#include "src/upstream/launcher.h"
#include "src/upstream/registry.h"

namespace pontage::gateway {

// What is known of files, shared by all sites; outlives the last of them.
struct FileStore {
  explicit FileStore(const config::Config::StaticCache& limits) : files(limits) {}
  cache::FileCache files;
  cache::Watcher watcher;
};

struct SiteParts {
  upstream::Registry& registry;
  observe::Metrics& metrics;
  const std::shared_ptr<FileStore>& store;
  net::BlockingPool& blocking;
  net::BlockingPool& launches;
  upstream::Launcher& launcher;
};

// `config` was checked. Numbers the site `generation`.
std::shared_ptr<const routing::Site> build_site(const config::Config& config, SiteParts parts,
                                                std::uint64_t generation);

}  // namespace pontage::gateway
