// The `files:` action: serves what lies below a directory, from the cache that all workers share. Made at config load,
// then immutable and shared by all workers; the cache and the pool are the gateway's and outlive it. A hit touches no
// disk and suspends nothing; all other work on files happens on the blocking pool.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/cache/file_cache.h"
#include "src/cache/load.h"
#include "src/config/config.h"
#include "src/http/handler.h"
#include "src/net/blocking_pool.h"

namespace pontage::handlers {

class FilesHandler final : public http::Handler {
 public:
  // `id` is distinct for every (root, symlinks) that ever shares `files`, across reloads.
  FilesHandler(const config::FilesAction& action, cache::FileCache& files, net::BlockingPool& pool, std::uint32_t id,
               cache::Resolver resolver = cache::Resolver::kernel);

  // GET and HEAD of exchange.forward_path: 200, 206, 304, 301 to a directory's slash, 403, 404, 412, 416; 400 for a
  // NUL. OPTIONS: 204; anything else: 405. Errors: overload (no descriptors, or too much waits for the disk), io,
  // timeout, cancelled.
  net::Task<util::Result<http::Response>> handle(http::Exchange& exchange) override;

 private:
  net::Task<util::Result<cache::EntryRef>> load(http::Exchange& exchange, std::string_view path, cache::EntryRef known);
  net::Task<util::Result<cache::EntryRef>> find_index(http::Exchange& exchange, std::string_view directory);
  cache::Found recall(http::Exchange& exchange, std::string_view path) const;
  util::Result<http::Response> respond(http::Exchange& exchange, cache::EntryRef entry) const;

  std::shared_ptr<const cache::FileRoot> root_;
  std::vector<std::string> index_;
  cache::FileCache& files_;
  net::BlockingPool& pool_;
};

}  // namespace pontage::handlers
