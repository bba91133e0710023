#include "src/handlers/file_body.h"

#include <algorithm>
#include <new>
#include <utility>

#include <unistd.h>

#include "src/cache/load.h"
#include "src/net/chunk_pool.h"

namespace pontage::handlers {
namespace {

using cache::EntryRef;

// Ranges longer than this take long enough that the file is looked at again before the last bytes leave.
constexpr std::uint64_t kGuarded = 1 << 20;
constexpr std::uint64_t kHeldBack = 64 * 1024;

class FileBody final : public http::BodySource {
 public:
  FileBody(net::ChunkPool& chunks, EntryRef entry, std::uint64_t first, std::uint64_t count) noexcept
      : chunks_(chunks), entry_(std::move(entry)), at_(first), left_(count) {}

  net::Task<util::Result<void>> pull(http::BodyBatch& batch, std::size_t budget, http::Patience) override {
    std::uint64_t count = left_;
    if (entry_->in_memory()) {
      count = std::min<std::uint64_t>(left_, budget);
      batch.add(entry_->body().substr(static_cast<std::size_t>(at_), static_cast<std::size_t>(count)));
    } else {
      if (started_ && !cache::same_bytes(*entry_)) {
        return done(util::fail(util::ErrorKind::io, util::Source::gateway, "file changed while it was sent"));
      }
      if (!started_ && left_ > kGuarded) count -= kHeldBack;
      if (!started_ && left_ <= cache::kMemoryBody) read(batch);
      if (batch.count == 0)
        batch.pieces[batch.count++] = {.memory = {}, .file = entry_->descriptor(), .offset = at_, .count = count};
      started_ = true;
    }
    at_ += count;
    left_ -= count;
    if (left_ == 0) batch.last = http::Last::yes;
    return done({});
  }
  void drop() noexcept override { this->~FileBody(); }

 private:
  static net::Task<util::Result<void>> done(util::Result<void> result) {
    return net::Task<util::Result<void>>::ready(std::move(result));
  }

  // A small range is read here and leaves with the head in one call, which is cheaper than sendfile (PERF.md 0.3).
  // Nothing is added when that cannot be: sendfile then says why.
  void read(http::BodyBatch& batch) noexcept {
    chunk_ = chunks_.take();
    if (!chunk_) return;
    const auto count = static_cast<std::size_t>(left_);
    const ssize_t got = ::pread(entry_->descriptor(), chunk_.data(), count, static_cast<off_t>(at_));
    if (got == static_cast<ssize_t>(count)) batch.add({chunk_.data(), count});
  }

  net::ChunkPool& chunks_;
  net::Chunk chunk_;
  EntryRef entry_;
  std::uint64_t at_;
  std::uint64_t left_;
  bool started_ = false;
};

}  // namespace

http::BodyPtr make_file_body(http::Exchange& exchange, EntryRef entry, std::uint64_t first, std::uint64_t count) {
  void* room = exchange.arena.allocate(sizeof(FileBody), alignof(FileBody));
  return http::BodyPtr(new (room) FileBody(exchange.reactor().chunks(), std::move(entry), first, count));
}

}  // namespace pontage::handlers
