#include "src/handlers/files_response.h"

#include <utility>

#include "protocols/message/http_date.h"
#include "src/handlers/file_body.h"
#include "src/http/conditional.h"
#include "src/http/error_page.h"
#include "src/http/range.h"

namespace pontage::handlers {
namespace {

using cache::EntryRef;
using cache::FileEntry;
using http::Response;
using message::HeaderId;

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
    response.body = make_file_body(exchange.arena, std::move(entry), 0, size);
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
  response.body = make_file_body(exchange.arena, std::move(entry), range.first, range.count);
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

Response file_response(http::Exchange& exchange, EntryRef entry, const FilesPolicy& policy) {
  const auto& request = exchange.request;
  const http::Validators current{entry->value(HeaderId::etag), entry->value(HeaderId::last_modified),
                                 entry->modified_seconds()};
  switch (http::evaluate_conditions(request.headers, request.method, current, exchange.unix_seconds)) {
    case http::Condition::not_modified: return not_modified(exchange, *entry);
    case http::Condition::failed: return http::make_error_response(exchange, 412, "the file has changed");
    case http::Condition::proceed: break;
  }
  http::ByteRange range;
  if (policy.action().max_ranges > 0) range = range_for(exchange, *entry, current);
  switch (range.kind) {
    case http::RangeKind::part: return partial(exchange, std::move(entry), range);
    case http::RangeKind::unsatisfiable: return unsatisfiable(exchange, range, entry->size());
    case http::RangeKind::whole: break;
  }
  return whole(exchange, std::move(entry));
}

void dress_error(http::Exchange& exchange, Response& response, EntryRef entry) {
  message::HeaderList headers(exchange.arena);
  for (const auto& h : response.head.headers) {
    if (h.id != HeaderId::content_type) headers.add(h.name, h.value, h.id);
  }
  const std::string_view type = entry->value(HeaderId::content_type);
  if (!type.empty()) headers.add(HeaderId::content_type, exchange.arena.copy(type));
  response.head.headers = headers;
  response.prepared = {};
  const std::uint64_t size = entry->size();
  response.head.body = {message::BodyKind::exact, size};
  response.body = {};
  if (size == 0 || exchange.request.method == message::Method::head) return;
  response.body = make_file_body(exchange.arena, std::move(entry), 0, size);
}

void add_expires(http::Exchange& exchange, Response& response, std::int64_t after) {
  response.own_headers(exchange.arena);
  const message::HttpDate date = message::format_http_date(exchange.unix_seconds + after);
  response.head.headers.add(HeaderId::expires, exchange.arena.copy({date.data(), date.size()}));
}

}  // namespace pontage::handlers
