// The part of the files handler that asks the cache, and the disk where the cache does not know.
#include <algorithm>
#include <array>
#include <utility>

#include "src/handlers/files.h"
#include "src/handlers/listing.h"
#include "src/http/error_page.h"
#include "src/http/simple_response.h"

namespace pontage::handlers {
namespace {

using cache::EntryRef;
using cache::FileKind;
using http::Exchange;
using message::ContentCoding;
using message::HeaderId;

constexpr std::uint64_t kDiskTimeoutMs = 30'000;

// What the pool does for a request; owns all it uses, because the request may be gone before it ends.
struct Look {
  cache::Keeping keeping;
  std::shared_ptr<const FilesPolicy> policy;
  std::string path;
  EntryRef known;
  std::uint64_t now_ms;

  util::Result<cache::Refreshed> operator()() const {
    return cache::refresh(keeping, policy->root(), {path, policy->shown(path)}, known, now_ms);
  }
};

struct LookForVariant {
  cache::Keeping keeping;
  std::shared_ptr<const FilesPolicy> policy;
  std::string name;
  ContentCoding coding;
  EntryRef of;
  EntryRef known;
  bool compress;
  std::uint64_t now_ms;

  util::Result<cache::Refreshed> operator()() const {
    const std::string_view path = of->path();
    const cache::VariantToLoad variant{.path = path,
                                       .name = name,
                                       .coding = coding,
                                       .shown = policy->shown(path),
                                       .of = of,
                                       .beside = policy->is_precompressed(coding),
                                       .compression = compress ? &policy->compression() : nullptr};
    return cache::refresh_variant(keeping, policy->root(), variant, known, now_ms);
  }
};

struct ListFolder {
  std::shared_ptr<const FilesPolicy> policy;
  std::string folder;
  std::string path;  // as the client knows it
  bool json;

  util::Result<std::string> operator()() const {
    const util::Result<Listing> listing = read_listing(policy->root(), folder);
    if (!listing) return util::Failure(listing.error());
    return json ? listing_json(*listing) : listing_page(*listing, path);
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

template <class Job>
net::Task<util::Result<EntryRef>> ask_disk(Exchange& exchange, net::BlockingPool& pool, Job job) {
  auto call = net::run_blocking(pool, exchange.reactor(), exchange.reactor().after(kDiskTimeoutMs), std::move(job));
  util::Result<util::Result<cache::Refreshed>> looked = co_await call;
  if (!looked) co_return util::Failure(looked.error());
  util::Result<cache::Refreshed>& refreshed = *looked;
  if (!refreshed) co_return util::Failure(refreshed.error());
  exchange.outcome.cache = to_string(refreshed->result);
  co_return std::move(refreshed->entry);
}

}  // namespace

// What the cache knows. Bytes that would leave from a descriptor are the file's of this moment, so a file written in
// place must not be sent under the head of its former self.
cache::Found FilesHandler::recall(Exchange& exchange, std::string_view path) const {
  if (keeping_.files == nullptr) return {};
  const std::uint64_t now = exchange.reactor().now_ms();
  cache::Found found = keeping_.files->find(policy_->root().id, path, now);
  if (found.freshness != cache::Freshness::fresh) return found;
  if (!found.entry->in_memory() && cache::FileCache::due_for_look(*found.entry, now) &&
      !cache::same_bytes(*found.entry)) {
    found.freshness = cache::Freshness::expired;
    return found;
  }
  exchange.outcome.cache = to_string(cache::CacheResult::hit);
  return found;
}

net::Task<util::Result<EntryRef>> FilesHandler::look_up(Exchange& exchange, std::string_view path) {
  cache::Found found = recall(exchange, path);
  if (found.freshness == cache::Freshness::fresh) co_return std::move(found.entry);
  Look look{keeping_, policy_, std::string(path), std::move(found.entry), exchange.reactor().now_ms()};
  auto asking = ask_disk(exchange, pool_, std::move(look));
  co_return co_await asking;
}

// A folder that cannot be read looks as if it were not there.
net::Task<util::Result<http::Response>> FilesHandler::list(Exchange& exchange, std::string_view folder) {
  const bool json = prefers_json(exchange.request.headers);
  ListFolder job{policy_, std::string(folder), std::string(exchange.path.path), json};
  auto call = net::run_blocking(pool_, exchange.reactor(), exchange.reactor().after(kDiskTimeoutMs), std::move(job));
  util::Result<util::Result<std::string>> done = co_await call;
  if (!done) co_return util::Failure(done.error());
  util::Result<std::string>& text = *done;
  if (!text && text.error().kind != util::ErrorKind::closed) co_return util::Failure(text.error());
  if (!text) co_return http::make_error_response(exchange, 404, "no such folder");
  http::Response response = http::make_response(exchange, 200, json ? "application/json" : "text/html; charset=utf-8",
                                                exchange.arena.copy(*text));
  response.head.headers.add(HeaderId::vary, "Accept");
  response.head.headers.add("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'");
  co_return response;
}

net::Task<EntryRef> FilesHandler::negotiate(Exchange& exchange, EntryRef entry) {
  const auto& headers = exchange.request.headers;
  if (headers.find(HeaderId::accept_encoding) == nullptr) co_return entry;
  const bool compress = keeping_.files != nullptr && entry->size() <= keeping_.files->max_file() &&
                        policy_->compresses(entry->value(HeaderId::content_type), entry->size());
  // A part of what we compressed is of no use when the next request finds it compressed anew.
  const bool whole = headers.find(HeaderId::range) == nullptr;
  std::array<ContentCoding, message::kContentCodings> offered;
  std::size_t count = 0;
  for (const ContentCoding coding : policy_->all_codings()) {
    const bool had = policy_->is_precompressed(coding) || (compress && whole && policy_->compresses(coding));
    if (had) offered[count++] = coding;
  }
  while (count > 0) {
    const ContentCoding coding = message::choose_content_coding(headers, {offered.data(), count});
    if (coding == ContentCoding::identity) break;
    auto finding = variant_of(exchange, entry, coding, compress && policy_->compresses(coding));
    EntryRef variant = co_await finding;
    if (variant && (whole || !cache::is_compressed(*variant))) co_return variant;
    count = static_cast<std::size_t>(std::remove(offered.begin(), offered.begin() + count, coding) - offered.begin());
  }
  co_return entry;
}

// Empty when there is no such variant, or the disk fails: the file as it is serves, too.
net::Task<EntryRef> FilesHandler::variant_of(Exchange& exchange, EntryRef entry, ContentCoding coding, bool compress) {
  const std::string_view name = cache::variant_name(entry->path(), coding, exchange.arena);
  cache::Found found = recall(exchange, name);
  const bool of_this = found.entry && found.entry->source() == entry->stamp();
  // What we made of the same bytes stays good, however long ago it was made.
  const bool ours = of_this && cache::is_compressed(*found.entry) && !policy_->is_precompressed(coding);
  if (ours && found.freshness == cache::Freshness::expired)
    keeping_.files->renew(*found.entry, exchange.reactor().now_ms());
  EntryRef variant = std::move(found.entry);
  if (!ours && (!of_this || found.freshness != cache::Freshness::fresh)) {
    LookForVariant look{keeping_,           policy_,  std::string(name),          coding, entry,
                        std::move(variant), compress, exchange.reactor().now_ms()};
    auto asking = ask_disk(exchange, pool_, std::move(look));
    util::Result<EntryRef> looked = co_await asking;
    if (!looked) co_return EntryRef();
    variant = std::move(*looked);
  }
  if (variant->kind() != FileKind::file) co_return EntryRef();
  co_return variant;
}

}  // namespace pontage::handlers
