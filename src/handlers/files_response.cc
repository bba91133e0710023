#include "src/handlers/files_response.h"

#include <utility>

#include "protocols/message/http_date.h"
#include "src/handlers/file_body.h"
#include "src/handlers/multipart_body.h"
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
    response.body = make_file_body(exchange, std::move(entry), 0, size);
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

Response partial(http::Exchange& exchange, EntryRef entry, const http::RangeSet& ranges) {
  Response response;
  response.head.status = 206;
  response.head.headers = fields_of(*entry, entry->prepared(), exchange.arena);
  if (ranges.count > 1) {
    Multipart multipart = make_multipart(exchange, std::move(entry), ranges);
    response.head.headers.remove_if([](const message::Header& h) { return h.id == HeaderId::content_type; });
    response.head.headers.add(HeaderId::content_type, multipart.content_type);
    response.head.body = {message::BodyKind::exact, multipart.size};
    response.body = std::move(multipart.body);
    return response;
  }
  const http::ByteRange& range = ranges.ranges.front();
  http::ContentRangeRoom room;
  response.head.body = {message::BodyKind::exact, range.count};
  response.head.headers.add(HeaderId::content_range,
                            exchange.arena.copy(http::content_range(range, entry->size(), room)));
  response.body = make_file_body(exchange, std::move(entry), range.first, range.count);
  return response;
}

Response unsatisfiable(http::Exchange& exchange, std::uint64_t size) {
  http::ContentRangeRoom room;
  Response response = http::make_error_response(exchange, 416, "the range is outside of the file");
  const std::string_view where = http::content_range({http::RangeKind::unsatisfiable}, size, room);
  response.head.headers.add(HeaderId::content_range, exchange.arena.copy(where));
  return response;
}

// Ranges are defined for GET alone (RFC 9110 14.2).
bool wants_ranges(const http::Exchange& exchange, const http::Validators& current) {
  const auto& request = exchange.request;
  if (request.method != message::Method::get || request.headers.find(HeaderId::range) == nullptr) return false;
  return http::evaluate_if_range(request.headers, current, exchange.unix_seconds) == http::RangeUse::honour;
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
  if (wants_ranges(exchange, current)) {
    const auto most = static_cast<std::size_t>(policy.action().max_ranges);
    const http::RangeSet ranges = http::requested_ranges(request.headers, entry->size(), most);
    if (ranges.kind == http::RangeKind::part) return partial(exchange, std::move(entry), ranges);
    if (ranges.kind == http::RangeKind::unsatisfiable) return unsatisfiable(exchange, entry->size());
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
  response.body = make_file_body(exchange, std::move(entry), 0, size);
}

void add_expires(http::Exchange& exchange, Response& response, std::int64_t after) {
  response.own_headers(exchange.arena);
  const message::HttpDate date = message::format_http_date(exchange.unix_seconds + after);
  response.head.headers.add(HeaderId::expires, exchange.arena.copy({date.data(), date.size()}));
}

}  // namespace pontage::handlers
