#include "src/handlers/files.h"

#include <utility>

#include "src/handlers/files_path.h"
#include "src/handlers/files_response.h"
#include "src/handlers/mime.h"
#include "src/http/error_page.h"
#include "src/http/simple_response.h"

namespace pontage::handlers {
namespace {

using cache::EntryRef;
using cache::FileKind;
using http::Exchange;
using http::Response;
using message::HeaderId;
using message::Method;

constexpr std::string_view kAllowed = "GET, HEAD";
constexpr std::uint64_t kDiskTimeoutMs = 30'000;

// What the pool does for a request; owns all it uses, because the request may be gone before it ends.
struct Look {
  cache::FileCache* files;
  std::shared_ptr<const cache::FileRoot> root;
  std::string path;
  std::string_view content_type;  // of the process's table
  EntryRef known;
  std::uint64_t now_ms;

  util::Result<cache::Refreshed> operator()() const {
    return cache::refresh(*files, *root, {path, content_type}, known, now_ms);
  }
};

std::string_view to_string(cache::CacheResult result) noexcept {
  switch (result) {
    case cache::CacheResult::hit: return "hit";
    case cache::CacheResult::miss: return "miss";
    case cache::CacheResult::uncached: return "uncached";
  }
  return {};
}

Response not_found(Exchange& exchange) {
  return http::make_error_response(exchange, 404, "no such file");
}

Response other_method(Exchange& exchange) {
  Response response = exchange.request.method == Method::options
                          ? http::make_response(exchange, 204, {}, {})
                          : http::make_error_response(exchange, 405, "files are for GET and HEAD");
  response.prepared = {};
  response.head.headers.add(HeaderId::allow, kAllowed);
  return response;
}

Response to_directory(Exchange& exchange) {
  Response response = http::make_response(exchange, 301, {}, {});
  response.head.headers.add(HeaderId::location,
                            directory_location(exchange.path.path, exchange.request.target, exchange.arena));
  return response;
}

}  // namespace

FilesHandler::FilesHandler(const config::FilesAction& action, cache::FileCache& files, net::BlockingPool& pool,
                           std::uint32_t id, cache::Resolver resolver)
    : root_(std::make_shared<const cache::FileRoot>(cache::FileRoot{id, action.root, action.symlinks, resolver})),
      index_(action.index),
      files_(files),
      pool_(pool) {
  MimeTypes::system();  // read now, not during the first request
}

net::Task<util::Result<Response>> FilesHandler::handle(Exchange& exchange) {
  const Method method = exchange.request.method;
  if (method != Method::get && method != Method::head) co_return other_method(exchange);
  const FilePath path = file_path(exchange.forward_path, exchange.arena);
  if (path.verdict == PathVerdict::bad) {
    co_return util::fail_decode(wire::DecodeError::malformed_target, util::Source::client);
  }
  if (path.verdict == PathVerdict::hidden) co_return not_found(exchange);

  if (exchange.bare_prefix && path.end == PathEnd::slash) co_return to_directory(exchange);

  EntryRef entry;
  if (path.end == PathEnd::name) {
    cache::Found found = recall(exchange, path.relative);
    if (found.freshness == cache::Freshness::fresh) {
      entry = std::move(found.entry);
    } else {
      util::Result<EntryRef> looked = co_await load(exchange, path.relative, std::move(found.entry));
      if (!looked) co_return util::Failure(looked.error());
      entry = std::move(*looked);
    }
  }
  // A rewrite may have taken the slash away that the client sent: nothing to redirect to then.
  const bool slashed = path.end == PathEnd::slash || exchange.path.match.ends_with('/');
  if (slashed && (!entry || entry->kind() == FileKind::directory)) {
    util::Result<EntryRef> index = co_await find_index(exchange, path.relative);
    if (!index) co_return util::Failure(index.error());
    entry = std::move(*index);
  }
  co_return respond(exchange, std::move(entry));
}

// What the cache knows. Bytes that would leave from a descriptor are the file's of this moment, so a file written in
// place must not be sent under the head of its former self.
cache::Found FilesHandler::recall(Exchange& exchange, std::string_view path) const {
  const std::uint64_t now = exchange.reactor().now_ms();
  cache::Found found = files_.find(root_->id, path, now);
  if (found.freshness != cache::Freshness::fresh) return found;
  if (!found.entry->in_memory() && cache::FileCache::due_for_look(*found.entry, now) &&
      !cache::same_bytes(*found.entry)) {
    found.freshness = cache::Freshness::expired;
    return found;
  }
  exchange.outcome.cache = to_string(cache::CacheResult::hit);
  return found;
}

net::Task<util::Result<EntryRef>> FilesHandler::load(Exchange& exchange, std::string_view path, EntryRef known) {
  Look look{
      &files_, root_, std::string(path), MimeTypes::system().find(path), std::move(known), exchange.reactor().now_ms()};
  auto call = net::run_blocking(pool_, exchange.reactor(), exchange.reactor().after(kDiskTimeoutMs), std::move(look));
  util::Result<util::Result<cache::Refreshed>> looked = co_await call;
  if (!looked) co_return util::Failure(looked.error());
  util::Result<cache::Refreshed>& refreshed = *looked;
  if (!refreshed) co_return util::Failure(refreshed.error());
  exchange.outcome.cache = to_string(refreshed->result);
  co_return std::move(refreshed->entry);
}

// The first of the index names that is a file, or is one we may not read; empty when there is none.
net::Task<util::Result<EntryRef>> FilesHandler::find_index(Exchange& exchange, std::string_view directory) {
  for (const std::string& name : index_) {
    const std::string_view path =
        directory.empty() ? std::string_view(name) : exchange.arena.join({directory, "/", name});
    cache::Found found = recall(exchange, path);
    EntryRef entry = std::move(found.entry);
    if (found.freshness != cache::Freshness::fresh) {
      util::Result<EntryRef> looked = co_await load(exchange, path, std::move(entry));
      if (!looked) co_return util::Failure(looked.error());
      entry = std::move(*looked);
    }
    if (entry->kind() == FileKind::file || entry->kind() == FileKind::forbidden) co_return std::move(entry);
  }
  co_return EntryRef();
}

util::Result<Response> FilesHandler::respond(Exchange& exchange, EntryRef entry) const {
  if (!entry) return not_found(exchange);
  switch (entry->kind()) {
    case FileKind::file: return file_response(exchange, std::move(entry));
    case FileKind::directory: return to_directory(exchange);
    case FileKind::missing: break;
    case FileKind::forbidden: return http::make_error_response(exchange, 403, "the file may not be read");
  }
  return not_found(exchange);
}

}  // namespace pontage::handlers
