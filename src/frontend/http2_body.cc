#include "src/frontend/http2_body.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace pontage::frontend {

using http::BodyBatch;
using util::ErrorKind;
using util::Source;

void Http2Body::start(Http2BodyOwner& owner, http::Exchange& exchange) noexcept {
  owner_ = &owner;
  exchange_ = &exchange;
  parts_.clear();
  first_ = held_ = given_ = 0;
  rules_ = {};
  bytes_ = waited_ms_ = 0;
  state_ = State::open;
  error_ = {};
}

std::size_t Http2Body::append(std::string_view data) noexcept {
  const std::size_t before = held_;
  while (!data.empty()) {
    if ((parts_.empty() || parts_.back().end == net::ChunkPool::kChunk) && !add_part()) break;
    Part& part = parts_.back();
    const std::size_t take = std::min(data.size(), net::ChunkPool::kChunk - part.end);
    std::memcpy(part.chunk.data() + part.end, data.data(), take);
    part.end += take;
    held_ += take;
    data.remove_prefix(take);
  }
  news_.raise();
  return held_ - before;
}

bool Http2Body::add_part() noexcept {
  try {
    net::Chunk chunk = exchange_->reactor().chunks().take();
    if (!chunk) return false;
    parts_.push_back(Part{.chunk = std::move(chunk)});
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void Http2Body::end() noexcept {
  if (state_ == State::open) state_ = State::ended;
  news_.raise();
}

void Http2Body::fail(const util::Error& error) noexcept {
  if (state_ != State::open) return;
  state_ = State::failed;
  error_ = error;
  news_.raise();
}

void Http2Body::clear() noexcept {
  const std::size_t held = std::exchange(held_, 0);
  parts_.clear();
  first_ = given_ = 0;
  if (held > 0) owner_->on_body_used(held);
}

// What the last pull handed out is used now.
void Http2Body::release() noexcept {
  const std::size_t used = given_;
  while (given_ > 0) {
    Part& part = parts_[first_];
    const std::size_t take = std::min(given_, part.end - part.begin);
    part.begin += take;
    given_ -= take;
    if (part.begin < part.end) break;
    part.chunk.reset();
    ++first_;
  }
  held_ -= used;
  if (first_ == parts_.size()) {
    parts_.clear();
    first_ = 0;
  } else if (first_ >= 64) {
    parts_.erase(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  if (used > 0) owner_->on_body_used(used);
}

util::Result<void> Http2Body::hand_out(BodyBatch& batch, std::size_t budget) {
  for (std::size_t i = first_; i < parts_.size() && given_ < budget && !batch.full(); ++i) {
    const Part& part = parts_[i];
    const std::size_t take = std::min(budget - given_, part.end - part.begin);
    batch.add({part.chunk.data() + part.begin, take});
    given_ += take;
  }
  bytes_ += given_;
  if (bytes_ > rules_.limit) return util::fail(ErrorKind::too_large, Source::client, "body");
  if (state_ == State::ended && given_ == held_) batch.last = http::Last::yes;
  return {};
}

net::Task<util::Result<void>> Http2Body::pull(BodyBatch& batch, std::size_t budget, http::Patience patience) {
  release();
  net::Reactor& reactor = exchange_->reactor();
  while (held_ == 0 && state_ == State::open && patience == http::Patience::wait) {
    owner_->on_body_wanted();
    const BodyPatience patient = body_patience(rules_, bytes_, waited_ms_);
    const std::uint64_t before = reactor.now_ms();
    const auto waited = co_await news_.wait(reactor.after(patient.ms), observe::Phase::client);
    waited_ms_ += reactor.now_ms() - before;
    if (waited != net::WaitResult::ready) co_return util::Failure(body_wait_error(waited, patient));
  }
  if (state_ == State::failed && held_ == 0) co_return util::Failure(error_);
  const auto handed = hand_out(batch, budget);
  exchange_->outcome.bytes_in = bytes_;
  co_return handed;
}

}  // namespace pontage::frontend
