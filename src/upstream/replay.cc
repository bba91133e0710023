#include "src/upstream/replay.h"

namespace pontage::upstream {

net::Task<util::Result<void>> ReplayBody::pull(http::BodyBatch& batch, std::size_t budget, http::Patience patience) {
  if (next_ != nullptr) {
    while (next_ != nullptr && !batch.full() && budget > 0) {
      const auto due = next_->bytes.substr(offset_, budget);
      batch.add(due);
      budget -= due.size();
      offset_ += due.size();
      if (offset_ < next_->bytes.size()) continue;
      next_ = next_->next;
      offset_ = 0;
    }
    if (next_ == nullptr && ended_) batch.last = http::Last::yes;
    co_return util::Result<void>{};
  }
  if (ended_) {
    batch.last = http::Last::yes;
    co_return util::Result<void>{};
  }
  const auto pulled = co_await source_->pull(batch, budget, patience);
  if (pulled) keep(batch);
  co_return pulled;
}

void ReplayBody::keep(const http::BodyBatch& batch) {
  if (batch.last == http::Last::yes) ended_ = true;
  if (overflowed_ || batch.count == 0) return;
  const std::uint64_t bytes = batch.bytes();
  if (kept_ + bytes > kMost) {
    overflowed_ = true;
    return;
  }
  kept_ += bytes;
  for (const auto& piece : batch.view()) {
    Kept* kept = arena_->make<Kept>();
    kept->bytes = arena_->copy(piece.memory);
    if (last_ != nullptr) {
      last_->next = kept;
    } else {
      first_ = kept;
    }
    last_ = kept;
  }
}

}  // namespace pontage::upstream
