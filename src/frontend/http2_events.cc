// What the codec tells an HTTP/2 session while it takes frames apart and makes them. Nothing here suspends, starts a
// request or calls back: what must be done later is noted.
#include <algorithm>

#include "src/frontend/http2_session.h"

namespace pontage::frontend {

using http2::BodyFollows;
using http2::ErrorCode;

namespace {
// Streams that the client gave up and that still unwind, times the limit: more begin no new ones.
constexpr std::size_t kUnwinding = 2;

Http2Stream& ours(http2::Stream& stream) noexcept {
  return static_cast<Http2Stream&>(stream);
}
}  // namespace

http2::ServerEvents::Opened Http2Session::open() noexcept {
  if (streams_.size() >= kUnwinding * limits_.streams) return {};
  try {
    auto& spare = host_->spare_streams();
    std::unique_ptr<Http2Stream> stream;
    if (spare.empty()) {
      stream = std::make_unique<Http2Stream>(host_->reactor());
    } else {
      stream = std::move(spare.back());
      spare.pop_back();
    }
    streams_.push_back(std::move(stream));
    // Whoever is noted below finds room.
    for (auto* notes : {&begun_, &trailing_, &broken_}) {
      if (notes->capacity() < streams_.size()) notes->reserve(2 * streams_.size() + 6);
    }
  } catch (const std::bad_alloc&) {
    return {};
  }
  host_->metrics().gauge_add(host_->series().h2_streams, 1);
  return streams_.back()->open(*this);
}

void Http2Session::on_head(http2::Stream& stream, wire::Expected<void, wire::DecodeError> result,
                           BodyFollows follows) noexcept {
  Http2Stream& request = ours(stream);
  request.set_head(result, follows);
  begun_.push_back(&request);
}

void Http2Session::on_data(http2::Stream& stream, std::string_view data) noexcept {
  Http2Stream& request = ours(stream);
  std::size_t kept = 0;
  if (request.state() == Http2Stream::State::answered) {
    request.ignore(data.size());
  } else if (request.state() != Http2Stream::State::over &&
             request.exchange().request.body.kind != message::BodyKind::none) {
    kept = request.append(data);
    if (kept < data.size()) note_broken(request);
  }
  held_ += kept;
  owed_ += kept;
  spent_ += data.size() - kept;
}

void Http2Session::note_broken(Http2Stream& stream) noexcept {
  if (std::find(broken_.begin(), broken_.end(), &stream) == broken_.end()) broken_.push_back(&stream);
}

void Http2Session::on_end(http2::Stream& stream) noexcept {
  ours(stream).end_request();
}

void Http2Session::on_closed(http2::Stream& stream, ErrorCode code) noexcept {
  Http2Stream& request = ours(stream);
  if (request.state() == Http2Stream::State::queued) std::erase(begun_, &request);
  std::erase(broken_, &request);
  std::erase(trailing_, &request);
  request.close(code);
  if (request.state() == Http2Stream::State::opened || request.state() == Http2Stream::State::queued) {
    // Malformed, or given up before it began: nobody else counts it.
    const auto kind = code == ErrorCode::protocol_error ? util::ErrorKind::protocol : util::ErrorKind::reset;
    host_->metrics().add(
        host_->series().aborts[static_cast<std::size_t>(util::Source::client)][static_cast<std::size_t>(kind)]);
  }
  if (request.disposable()) dispose(request);
}

http2::Ready Http2Session::ready(http2::Stream& stream, std::size_t most) noexcept {
  return ours(stream).ready(most);
}

http2::ServerEvents::Put Http2Session::put(std::string_view frame) noexcept {
  if (!output_.has_room()) return Put::full;
  output_.copy(frame);
  return Put::taken;
}

http2::ServerEvents::Put Http2Session::put_data(std::string_view header, http2::Stream& stream,
                                                std::size_t bytes) noexcept {
  return ours(stream).put(header, bytes, output_);
}

void Http2Session::on_sent(http2::Stream& stream, std::size_t bytes, BodyFollows follows) noexcept {
  Http2Stream& request = ours(stream);
  request.note_sent(bytes, follows);
  if (request.body_ended()) trailing_.push_back(&request);
}

void Http2Session::on_unsendable(http2::Stream& stream) noexcept {
  note_broken(ours(stream));
}

}  // namespace pontage::frontend
