// The `files:` action: serves what lies below a directory, from the cache that all workers share. Made at config load,
// then immutable and shared by all workers; the cache and the pool are the gateway's and outlive it. A hit touches no
// disk and suspends nothing; all other work on files happens on the blocking pool.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "src/cache/load.h"
#include "src/cache/load_variant.h"
#include "src/config/config.h"
#include "src/handlers/files_path.h"
#include "src/handlers/files_policy.h"
#include "src/http/handler.h"
#include "src/net/blocking_pool.h"

namespace pontage::handlers {

class FilesHandler final : public http::Handler {
 public:
  FilesHandler(std::shared_ptr<const FilesPolicy> policy, cache::Keeping keeping, net::BlockingPool& pool);

  // GET and HEAD of exchange.forward_path: 200, 206, 304, 301 to a directory's slash, 403, 404, 412, 416; 400 for a
  // NUL. OPTIONS: 204; anything else: 405. Errors: overload (no descriptors, or too much waits for the disk), io,
  // timeout, cancelled.
  net::Task<util::Result<http::Response>> handle(http::Exchange& exchange) override;

 private:
  // What a request leads to, after all candidates were tried.
  struct Choice {
    enum class Kind : std::uint8_t { file, redirect, listing, error };
    Kind kind = Kind::error;
    int status = 404;         // of an error
    cache::EntryRef entry;    // of a file
    std::string_view folder;  // of a listing
  };

  net::Task<util::Result<http::Response>> serve(http::Exchange& exchange, FilePath path);
  net::Task<util::Result<http::Response>> answer(http::Exchange& exchange, const FilePath& path);
  net::Task<util::Result<http::Response>> respond(http::Exchange& exchange, Choice choice);
  net::Task<util::Result<http::Response>> list(http::Exchange& exchange, std::string_view folder);
  net::Task<util::Result<http::Response>> with_error_file(http::Exchange& exchange, http::Response response);

  net::Task<util::Result<Choice>> choose(http::Exchange& exchange, const FilePath& path);
  net::Task<util::Result<Choice>> try_folder(http::Exchange& exchange, std::string_view folder, PathEnd end);
  net::Task<util::Result<cache::EntryRef>> find_index(http::Exchange& exchange, std::string_view folder);
  net::Task<util::Result<cache::EntryRef>> look_up(http::Exchange& exchange, std::string_view path);
  net::Task<util::Result<cache::EntryRef>> load(http::Exchange& exchange, std::string_view path, cache::EntryRef known);
  cache::Found recall(http::Exchange& exchange, std::string_view path) const;

  // The variant of `entry` that suits the client, or `entry` itself.
  net::Task<cache::EntryRef> negotiate(http::Exchange& exchange, cache::EntryRef entry);
  net::Task<cache::EntryRef> variant_of(http::Exchange& exchange, cache::EntryRef entry, message::ContentCoding coding,
                                        bool compress);

  std::shared_ptr<const FilesPolicy> policy_;
  cache::Keeping keeping_;
  net::BlockingPool& pool_;
};

}  // namespace pontage::handlers
