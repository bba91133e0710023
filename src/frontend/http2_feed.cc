// What the codec tells a stream and asks of it, while frames are read and made: nothing here suspends or calls back.
#include <algorithm>

#include "src/frontend/http2_output.h"
#include "src/frontend/http2_session.h"

namespace pontage::frontend {

using http2::BodyFollows;
using http2::ErrorCode;
using util::ErrorKind;
using util::Source;

namespace {
constexpr std::size_t kFrameCopyLimit = 4096;  // shorter pieces are copied behind their frame's header
}

std::size_t Http2Stream::append(std::string_view data) noexcept {
  continue_due_ = false;  // it did not wait for our word
  return body_.append(data);
}

void Http2Stream::end_request() noexcept {
  request_ended_ = true;
  body_.end();
  if (state_ == State::answered) taken_.raise();
}

void Http2Stream::ignore(std::size_t bytes) noexcept {
  ignored_ += bytes;
  if (ignores_too_much()) taken_.raise();
}

void Http2Stream::close(ErrorCode code) noexcept {
  closed_ = true;
  if (!request_ended_) {
    const auto kind = code == ErrorCode::no_error || code == ErrorCode::cancel ? ErrorKind::reset : ErrorKind::protocol;
    body_.fail({.kind = kind, .source = Source::client, .detail = "body cut short"});
  }
  if (state_ == State::running && !ended_) fiber_.cancel();
  taken_.raise();
}

http2::Ready Http2Stream::ready(std::size_t most) noexcept {
  using End = http2::Ready::End;
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(most, offered_bytes_));
  if (!offered_last_ || bytes < offered_bytes_) return {End::no, bytes};
  body_ended_ = trailers_ != nullptr;
  return {body_ended_ ? End::before_trailers : End::body, bytes};
}

http2::ServerEvents::Put Http2Stream::put(std::string_view frame_header, std::size_t bytes, Http2Output& output) {
  using Put = http2::ServerEvents::Put;
  if (bytes > offered_bytes_) return Put::gone;  // the exchange failed meanwhile
  if (!output.has_room()) return Put::full;
  output.copy(frame_header);
  offered_bytes_ -= bytes;
  while (bytes > 0) {
    std::string_view& piece = offered_[offered_first_];
    const std::size_t take = std::min(bytes, piece.size());
    if (take <= kFrameCopyLimit) {
      output.copy(piece.substr(0, take));
    } else {
      output.refer(piece.substr(0, take));
    }
    piece.remove_prefix(take);
    bytes -= take;
    if (piece.empty()) ++offered_first_;
  }
  // Others, which may be less urgent, come after what this one has behind it.
  if (offered_bytes_ == 0 && more_at_hand_) output.close_turn();
  return Put::taken;
}

void Http2Stream::note_sent(std::size_t bytes, BodyFollows follows) noexcept {
  exchange_.outcome.bytes_out += bytes;
  if (follows == BodyFollows::no) {
    ended_ = true;
    taken_.raise();
  } else if (offered_bytes_ == 0 && offered_count_ > 0) {
    taken_.raise();
  }
}

const message::HeaderList* Http2Stream::take_trailers() noexcept {
  return body_ended_ && offered_bytes_ == 0 ? std::exchange(trailers_, nullptr) : nullptr;
}

}  // namespace pontage::frontend
