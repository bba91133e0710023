#include "src/handlers/multipart_body.h"

#include <algorithm>
#include <new>
#include <utility>

#include "src/handlers/file_body.h"
#include "src/http/random_id.h"

namespace pontage::handlers {
namespace {

using cache::EntryRef;
using http::BodyBatch;
using http::ByteRange;
using message::HeaderId;

struct Part {
  ByteRange range;
  std::string_view head;  // the boundary before it, and its fields
};

// One part a pull, so that what a part's bytes point to stays until the next one; those of a file in memory stay
// anyway.
class MultipartBody final : public http::BodySource {
 public:
  MultipartBody(http::Exchange& exchange, EntryRef entry, std::span<const Part> parts, std::string_view end) noexcept
      : exchange_(exchange), entry_(std::move(entry)), parts_(parts), end_(end) {}

  net::Task<util::Result<void>> pull(BodyBatch& batch, std::size_t budget, http::Patience patience) override {
    if (entry_->in_memory()) {
      gather(batch);
      co_return util::Result<void>{};
    }
    if (bytes_ == nullptr) {
      const Part& part = parts_.front();
      batch.add(part.head);
      bytes_ = make_file_body(exchange_, entry_, part.range.first, part.range.count);
    }
    BodyBatch piece;
    auto pulling = bytes_->pull(piece, budget, patience);
    const auto pulled = co_await pulling;
    if (!pulled) co_return util::Failure(pulled.error());
    for (const http::Piece& p : piece.view()) batch.pieces[batch.count++] = p;
    if (piece.last == http::Last::no) co_return util::Result<void>{};
    spent_ = std::exchange(bytes_, {});
    parts_ = parts_.subspan(1);
    if (parts_.empty()) finish(batch);
    co_return util::Result<void>{};
  }
  void drop() noexcept override { this->~MultipartBody(); }

 private:
  // As many parts as there is room for, with the end behind the last.
  void gather(BodyBatch& batch) noexcept {
    while (!parts_.empty() && batch.count + 3 <= BodyBatch::kPieces) {
      const Part& part = parts_.front();
      batch.add(part.head);
      batch.add(entry_->body().substr(static_cast<std::size_t>(part.range.first),
                                      static_cast<std::size_t>(part.range.count)));
      parts_ = parts_.subspan(1);
    }
    if (parts_.empty()) finish(batch);
  }
  void finish(BodyBatch& batch) noexcept {
    batch.add(end_);
    batch.last = http::Last::yes;
  }

  http::Exchange& exchange_;
  EntryRef entry_;
  std::span<const Part> parts_;  // those to come
  std::string_view end_;
  http::BodyPtr bytes_;
  http::BodyPtr spent_;  // its last batch is still in use
};

}  // namespace

Multipart make_multipart(http::Exchange& exchange, EntryRef entry, const http::RangeSet& ranges) {
  message::Arena& arena = exchange.arena;
  const std::span<char> boundary = arena.chars(32);
  http::random_hex(boundary);
  const std::string_view mark(boundary.data(), boundary.size());
  const std::string_view type = entry->value(HeaderId::content_type);
  auto* parts = static_cast<Part*>(arena.allocate(sizeof(Part) * ranges.count, alignof(Part)));
  Multipart made;
  for (std::size_t i = 0; i < ranges.count; ++i) {
    http::ContentRangeRoom room;
    const std::string_view where = http::content_range(ranges.ranges[i], entry->size(), room);
    const std::string_view head = arena.join(
        {"\r\n--", mark, type.empty() ? "" : "\r\nContent-Type: ", type, "\r\nContent-Range: ", where, "\r\n\r\n"});
    new (parts + i) Part{ranges.ranges[i], head};
    made.size += head.size() + ranges.ranges[i].count;
  }
  const std::string_view end = arena.join({"\r\n--", mark, "--\r\n"});
  made.size += end.size();
  made.content_type = arena.join({"multipart/byteranges; boundary=", mark});
  void* room = arena.allocate(sizeof(MultipartBody), alignof(MultipartBody));
  made.body = http::BodyPtr(new (room) MultipartBody(exchange, std::move(entry), {parts, ranges.count}, end));
  return made;
}

}  // namespace pontage::handlers
