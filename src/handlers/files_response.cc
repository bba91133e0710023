#include "src/handlers/files_response.h"

#include <algorithm>
#include <new>
#include <utility>

#include "src/cache/load.h"
#include "src/http/conditional.h"
#include "src/http/error_page.h"
#include "src/http/range.h"

namespace pontage::handlers {
namespace {

using cache::EntryRef;
using cache::FileEntry;
using http::Response;
using message::HeaderId;

// Ranges longer than this take long enough that the file is looked at again before the last bytes leave.
constexpr std::uint64_t kGuarded = 1 << 20;
constexpr std::uint64_t kHeldBack = 64 * 1024;

// A range of an entry; lives in the exchange's arena and holds the entry until it is dropped.
class FileBody final : public http::BodySource {
 public:
  FileBody(EntryRef entry, std::uint64_t first, std::uint64_t count) noexcept
      : entry_(std::move(entry)), at_(first), left_(count) {}

  // A file range costs no memory, so it is not cut to the budget: who sends it takes turns by itself.
  net::Task<util::Result<void>> pull(http::BodyBatch& batch, std::size_t budget, http::Patience) override {
    std::uint64_t count = left_;
    if (entry_->in_memory()) {
      count = std::min<std::uint64_t>(left_, budget);
      batch.add(entry_->body().substr(static_cast<std::size_t>(at_), static_cast<std::size_t>(count)));
    } else {
      if (started_ && !cache::same_bytes(*entry_)) {
        co_return util::fail(util::ErrorKind::io, util::Source::gateway, "file changed while it was sent");
      }
      if (!started_ && left_ > kGuarded) count -= kHeldBack;
      batch.pieces[batch.count++] = {.memory = {}, .file = entry_->descriptor(), .offset = at_, .count = count};
      started_ = true;
    }
    at_ += count;
    left_ -= count;
    if (left_ == 0) batch.last = http::Last::yes;
    co_return util::Result<void>{};
  }
  void drop() noexcept override { this->~FileBody(); }

 private:
  EntryRef entry_;
  std::uint64_t at_;
  std::uint64_t left_;
  bool started_ = false;
};

void attach_body(http::Exchange& exchange, Response& response, EntryRef entry, std::uint64_t first,
                 std::uint64_t count) {
  void* room = exchange.arena.allocate(sizeof(FileBody), alignof(FileBody));
  response.body = http::BodyPtr(new (room) FileBody(std::move(entry), first, count));
}

// The entry's fields whose lines stand in `text`, which is prepared() or the front of a copy of it.
message::HeaderList fields_of(const FileEntry& entry, std::string_view text, message::Arena& arena) {
  message::HeaderList list(arena);
  for (const FileEntry::Field& field : entry.fields()) {
    if (field.at < text.size()) list.add(field.id, field.value(text));
  }
  return list;
}

Response whole(http::Exchange& exchange, EntryRef entry) {
  Response response;
  response.head.status = 200;
  response.head.body = {message::BodyKind::exact, entry->size()};
  const bool sends = exchange.request.method != message::Method::head && entry->size() != 0;
  response.prepared = sends ? entry->prepared() : exchange.arena.copy(entry->prepared());
  response.head.headers = fields_of(*entry, response.prepared, exchange.arena);
  if (sends) {
    const std::uint64_t size = entry->size();
    attach_body(exchange, response, std::move(entry), 0, size);
  }
  return response;
}

Response not_modified(http::Exchange& exchange, const FileEntry& entry) {
  Response response;
  response.head.status = 304;
  response.prepared = exchange.arena.copy(entry.prepared().substr(0, entry.not_modified_size()));
  response.head.headers = fields_of(entry, response.prepared, exchange.arena);
  return response;
}

Response partial(http::Exchange& exchange, EntryRef entry, const http::ByteRange& range) {
  http::ContentRangeRoom room;
  Response response;
  response.head.status = 206;
  response.head.body = {message::BodyKind::exact, range.count};
  response.head.headers = fields_of(*entry, entry->prepared(), exchange.arena);
  response.head.headers.add(HeaderId::content_range,
                            exchange.arena.copy(http::content_range(range, entry->size(), room)));
  attach_body(exchange, response, std::move(entry), range.first, range.count);
  return response;
}

Response unsatisfiable(http::Exchange& exchange, const http::ByteRange& range, std::uint64_t size) {
  http::ContentRangeRoom room;
  Response response = http::make_error_response(exchange, 416, "the range is outside of the file");
  response.head.headers.add(HeaderId::content_range, exchange.arena.copy(http::content_range(range, size, room)));
  return response;
}

// Ranges are defined for GET alone (RFC 9110 14.2).
http::ByteRange range_for(const http::Exchange& exchange, const FileEntry& entry, const http::Validators& current) {
  if (exchange.request.method != message::Method::get) return {};
  const http::ByteRange range = http::requested_range(exchange.request.headers, entry.size());
  if (range.kind == http::RangeKind::whole) return range;
  const auto use = http::evaluate_if_range(exchange.request.headers, current, exchange.unix_seconds);
  return use == http::RangeUse::honour ? range : http::ByteRange{};
}

}  // namespace

Response file_response(http::Exchange& exchange, EntryRef entry) {
  const auto& request = exchange.request;
  const http::Validators current{entry->value(HeaderId::etag), entry->value(HeaderId::last_modified),
                                 entry->modified_seconds()};
  switch (http::evaluate_conditions(request.headers, request.method, current, exchange.unix_seconds)) {
    case http::Condition::not_modified: return not_modified(exchange, *entry);
    case http::Condition::failed: return http::make_error_response(exchange, 412, "the file has changed");
    case http::Condition::proceed: break;
  }
  const http::ByteRange range = range_for(exchange, *entry, current);
  switch (range.kind) {
    case http::RangeKind::part: return partial(exchange, std::move(entry), range);
    case http::RangeKind::unsatisfiable: return unsatisfiable(exchange, range, entry->size());
    case http::RangeKind::whole: break;
  }
  return whole(exchange, std::move(entry));
}

}  // namespace pontage::handlers
