#include "src/handlers/compress_body.h"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

#include "src/net/stream.h"

namespace pontage::handlers {

using http::BodyBatch;
using http::Flush;
using http::Last;
using http::Patience;
using http::Piece;
using util::ErrorKind;
using util::Source;

namespace {

constexpr std::size_t kTurn = 64 * 1024;  // bytes of input
thread_local constinit std::size_t shared_out = 0;

}  // namespace

std::optional<EncoderShare> EncoderShare::take(std::size_t bytes) noexcept {
  if (bytes > kLimit - shared_out) return std::nullopt;
  shared_out += bytes;
  return EncoderShare(bytes);
}

EncoderShare::~EncoderShare() {
  shared_out -= bytes_;
}

net::Task<util::Result<void>> CompressBody::pull(BodyBatch& batch, std::size_t budget, Patience patience) {
  if (sent_ < made_) {
    deliver(batch, budget);
    co_return util::Result<void>{};
  }
  out_.reset();
  made_ = sent_ = 0;
  for (;;) {
    const auto pace = encode();
    if (!pace) co_return util::Failure(pace.error());
    if (*pace == Pace::full || *pace == Pace::complete) break;
    bool rest = *pace == Pace::turn_over;
    if (!rest) {
      if (failure_ && made_ == 0) co_return util::Failure(*failure_);
      if (failure_) break;
      const bool holding = made_ > 0 || unflushed_;
      if (!holding) out_.reset();
      co_await refill(holding ? Patience::none : patience);
      const bool nothing = in_.count == 0 && in_.last == Last::no && !failure_;
      if (!nothing) continue;
      flush_due_ = flush_due_ || unflushed_;
      if (flush_due_) continue;
      if (made_ > 0 || patience == Patience::none) break;
      rest = true;  // a source that waited for nothing must not keep the worker
    }
    if (made_ > 0) break;  // the next pull begins with the others' turn
    net::Yield others_first;
    const auto yielded = co_await others_first;
    if (yielded == net::WaitResult::cancelled) co_return util::fail(ErrorKind::cancelled, Source::client, "compress");
    turn_ = 0;
  }
  deliver(batch, budget);
  co_return util::Result<void>{};
}

// Compresses what is in hand, as far as room and turn go.
util::Result<CompressBody::Pace> CompressBody::encode() {
  for (;;) {
    if (!slice_.open) {
      const auto pace = open_slice();
      if (!pace || *pace != Pace::more) return pace;
    }
    if (!out_) out_ = reactor_->chunks().take();
    if (!out_) return util::fail(ErrorKind::overload, Source::gateway, "buffers");
    const auto room = out_.span().subspan(made_);
    if (room.size() < http::ContentEncoder::kLeastRoom) return Pace::full;
    const auto step = encoder_->step(slice_.bytes, room, slice_.operation);
    made_ += step.produced;
    slice_.bytes.remove_prefix(step.consumed);
    const bool stuck = !step.done && step.consumed + step.produced == 0;
    if (step.failed || stuck) return util::fail(ErrorKind::overload, Source::gateway, "encoder");
    if (!step.done) continue;
    slice_.open = false;
    unflushed_ = slice_.operation == Operation::more;
    if (slice_.operation == Operation::more) continue;
    flushed_ = flush_due_;
    flush_due_ = false;
    finished_ = slice_.operation == Operation::finish;
    return Pace::complete;
  }
}

util::Result<CompressBody::Pace> CompressBody::open_slice() {
  while (piece_ < in_.count && taken_ == in_.pieces[piece_].size()) {
    ++piece_;
    taken_ = 0;
  }
  if (piece_ == in_.count) {
    slice_ = {.bytes = {}, .operation = operation_after_slice(), .open = false};
    if (slice_.operation == Operation::more) return Pace::hungry;
    if (slice_.operation == Operation::flush && !unflushed_) {
      flushed_ = made_ > 0;
      flush_due_ = false;
      return made_ > 0 ? Pace::complete : Pace::hungry;
    }
    slice_.open = true;
    return Pace::more;
  }
  if (turn_ >= kTurn) return Pace::turn_over;
  const Piece& piece = in_.pieces[piece_];
  const std::size_t most = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size() - taken_, kTurn - turn_));
  std::string_view bytes;
  if (piece.file < 0) {
    bytes = piece.memory.substr(static_cast<std::size_t>(taken_), most);
  } else {
    const auto read = read_file(piece, most);
    if (!read) return util::Failure(read.error());
    bytes = *read;
  }
  taken_ += bytes.size();
  turn_ += bytes.size();
  const bool rest = taken_ < piece.size() || piece_ + 1 < in_.count;
  slice_ = {.bytes = bytes, .operation = rest ? Operation::more : operation_after_slice(), .open = true};
  return Pace::more;
}

// What is to be done once all input in hand is with the encoder.
CompressBody::Operation CompressBody::operation_after_slice() const noexcept {
  if (in_.last == Last::yes) return Operation::finish;
  return flush_due_ ? Operation::flush : Operation::more;
}

util::Result<std::string_view> CompressBody::read_file(const Piece& piece, std::size_t most) {
  if (!file_) file_ = reactor_->chunks().take();
  if (!file_) return util::fail(ErrorKind::overload, Source::gateway, "buffers");
  const auto room = file_.span();
  for (;;) {
    const ssize_t got =
        ::pread(piece.file, room.data(), std::min(room.size(), most), static_cast<off_t>(piece.offset + taken_));
    if (got > 0) return std::string_view(room.data(), static_cast<std::size_t>(got));
    if (got == 0) return util::fail(ErrorKind::closed, Source::gateway, "file was truncated");
    if (errno != EINTR) return util::fail(ErrorKind::io, Source::gateway, "read", errno);
  }
}

net::Task<void> CompressBody::refill(Patience patience) {
  file_.reset();
  in_.clear();
  piece_ = 0;
  taken_ = 0;
  const auto pulled = co_await source_->pull(in_, kTurn, patience);
  if (!pulled) {
    in_.clear();
    fail_later(pulled.error());
    co_return;
  }
  if (in_.flush == Flush::now) flush_due_ = true;
  received_ += in_.bytes();
  if (promised_.kind != message::BodyKind::exact) co_return;
  if (received_ > promised_.length) {
    in_.clear();
    fail_later(util::Error{.kind = ErrorKind::protocol, .source = Source::server, .detail = "long_response"});
  } else if (in_.last == Last::yes && received_ < promised_.length) {
    in_.last = Last::no;
    fail_later(util::Error{.kind = ErrorKind::closed, .source = Source::server, .detail = "short_response"});
  }
}

void CompressBody::fail_later(const util::Error& error) noexcept {
  failure_ = error;
  flush_due_ = unflushed_ || in_.count > 0;
}

void CompressBody::deliver(BodyBatch& batch, std::size_t budget) noexcept {
  const std::size_t count = std::min(budget, made_ - sent_);
  if (count > 0) batch.add({out_.data() + sent_, count});
  sent_ += count;
  if (sent_ < made_) return;
  if (flushed_) batch.flush = Flush::now;
  flushed_ = false;
  if (!finished_) return;
  batch.last = Last::yes;
  batch.trailers = in_.trailers;
}

}  // namespace pontage::handlers
