#include "src/handlers/file_body.h"

#include <algorithm>
#include <new>
#include <utility>

#include "src/cache/load.h"

namespace pontage::handlers {
namespace {

using cache::EntryRef;

// Ranges longer than this take long enough that the file is looked at again before the last bytes leave.
constexpr std::uint64_t kGuarded = 1 << 20;
constexpr std::uint64_t kHeldBack = 64 * 1024;

class FileBody final : public http::BodySource {
 public:
  FileBody(EntryRef entry, std::uint64_t first, std::uint64_t count) noexcept
      : entry_(std::move(entry)), at_(first), left_(count) {}

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

}  // namespace

http::BodyPtr make_file_body(message::Arena& arena, EntryRef entry, std::uint64_t first, std::uint64_t count) {
  void* room = arena.allocate(sizeof(FileBody), alignof(FileBody));
  return http::BodyPtr(new (room) FileBody(std::move(entry), first, count));
}

}  // namespace pontage::handlers
