#include "src/upstream/cgi_connection.h"

#include <algorithm>
#include <array>

#include "protocols/wire/ascii.h"
#include "src/http/forwarding.h"
#include "src/observe/log.h"
#include "src/upstream/gather.h"

namespace pontage::upstream {

using config::ms;
using http::BodyBatch;
using message::BodyKind;
using util::ErrorKind;
using util::Source;

namespace {

constexpr std::uint64_t kLastWordsMs = 1000;  // between a whole body and the protocol's own end
constexpr std::uint64_t kMostDiscarded = 1024 * 1024;
constexpr std::size_t kMostBodyPiece = 65528;     // what a FastCGI record carries (F2)
constexpr std::size_t kMostRequest = 256 * 1024;  // of variables; more than any limit on a head lets through
constexpr std::uint64_t kTurnBytes = 512 * 1024;  // then other fibers have their turn

iovec piece_of(std::string_view bytes) noexcept {
  return {const_cast<char*>(bytes.data()), bytes.size()};
}

// Fields by which a server could have the gateway send a file of its choice: never acted upon (ADAPTERS C9).
void remove_file_fields(message::HeaderList& headers) {
  headers.remove_if([](const message::Header& h) {
    return h.id == message::HeaderId::unknown &&
           (wire::iequals(h.name, "X-Sendfile") || wire::iequals(h.name, "X-Accel-Redirect"));
  });
}

}  // namespace

CgiConnection::CgiConnection(std::shared_ptr<BackendServer> server, std::unique_ptr<net::ByteStream> stream)
    : BackendConnection(std::move(server), std::move(stream)),
      settings_(this->server().settings()),
      head_decoder_(settings_->response_limits) {}

net::Task<util::Result<http::Response>> CgiConnection::round_trip(http::Exchange& exchange) {
  exchange_ = &exchange;
  server().refresh(settings_);
  received_ = content_ = discarded_ = turn_ = 0;
  last_words_until_ = net::kNoDeadline;
  at_ = end_ = 0;
  rest_ = {};
  request_sent_ = answered_ = ended_ = damaged_ = false;
  head_decoder_.reset();
  begin();
  const auto head = encode(exchange);
  if (!head) co_return util::Failure(head.error());
  if (exchange.body == nullptr) {
    const auto sent = co_await send_alone(*head);
    if (!sent) co_return util::Failure(sent.error());
  } else {
    exchange.pump.start(pump_body(*head));
  }
  http::Response response;
  const auto got = co_await read_head(response.head);
  if (!got) {
    note_end();
    co_return util::Failure(got.error());
  }
  framing_ = response.head.body;
  answered_ = true;
  http::strip_response_head(response.head);
  remove_file_fields(response.head.headers);
  response.body = http::BodyPtr(this);
  co_return response;
}

util::Result<std::span<const char>> CgiConnection::encode(http::Exchange& exchange) {
  const cgi::VariableList& variables = *exchange.variables;
  const std::size_t room = request_room(variables) + body_end().size();
  if (room > kMostRequest) return util::fail(ErrorKind::limit, Source::gateway, "variables");
  request_bytes_ = 0;
  if (room == 0) return std::span<const char>{};
  if (room <= net::ChunkPool::kChunk) out_ = reactor().chunks().take();
  if (room <= net::ChunkPool::kChunk && !out_) return util::fail(ErrorKind::overload, Source::gateway, "buffers");
  wire::Sink sink(out_ ? out_.span() : exchange.arena.chars(room));
  if (const auto encoded = encode_request(sink, variables); !encoded) return util::Failure(encoded.error());
  if (exchange.body == nullptr) sink.append(body_end());
  request_bytes_ = sink.size();
  return std::span<const char>(sink.view());
}

// A request without a body: nearly always one send that the socket takes whole.
net::Task<util::Result<void>> CgiConnection::send_alone(std::span<const char> head) {
  request_sent_ = head.empty();
  if (request_sent_) co_return util::Result<void>{};
  iovec piece = piece_of({head.data(), head.size()});
  const auto sent = co_await send_first({&piece, 1}, ms(settings_->timeouts.idle));
  out_.reset();
  request_sent_ = sent.has_value();
  co_return sent;
}

// The pump's fiber. A server that stops reading may have answered already: only the client's failures wake the way
// itself. A body cut short is never ended, so that it cannot look complete (F13).
net::Task<void> CgiConnection::pump_body(std::span<const char> head) {
  const auto sent = co_await send_body(head);
  if (sent) {
    request_sent_ = true;
    note_sent();
    if (head_until_ != 0) head_until_ = reactor().after(ms(settings_->timeouts.first_byte));  // it counts from here
    co_return;
  }
  damaged_ = true;
  exchange_->pump.fail(sent.error());
}

net::Task<util::Result<void>> CgiConnection::send_body(std::span<const char> head) {
  std::string_view front(head.data(), head.size());
  BodyBatch batch;
  std::uint64_t turn = 0;
  for (auto patience = http::Patience::none;; patience = http::Patience::wait) {
    batch.clear();
    const auto pulled = co_await exchange_->body->pull(batch, kMostBodyPiece, patience);
    if (!pulled) co_return util::Failure(pulled.error());
    std::array<iovec, BodyBatch::kPieces + 3> pieces;
    std::size_t count = 0;
    const std::size_t bytes = static_cast<std::size_t>(batch.bytes());
    const bool last = batch.last == http::Last::yes;
    const std::string_view before = bytes > 0 ? body_header(bytes) : std::string_view{};
    const std::string_view behind = last ? body_end() : std::string_view{};
    if (!front.empty()) pieces[count++] = piece_of(front);
    if (!before.empty()) pieces[count++] = piece_of(before);
    for (const auto& piece : batch.view()) pieces[count++] = piece_of(piece.memory);
    if (!behind.empty()) pieces[count++] = piece_of(behind);
    if (count > 0) {
      const std::span sending(pieces.data(), count);
      const auto idle = ms(settings_->timeouts.idle);
      auto put = front.empty()
                     ? net::write_all(*stream_, sending, net::More::no, idle, observe::Phase::server, Source::server)
                     : send_first(sending, idle);
      const auto done = co_await std::move(put);
      if (!done) co_return util::Failure(done.error());
      server().count_sent(*exchange_, bytes);
    }
    if (!front.empty()) out_.reset();
    front = {};
    if (last) co_return util::Result<void>{};
    turn += bytes;
    if (turn < kTurnBytes) continue;
    turn = 0;
    net::Yield others_first;
    const auto yielded = co_await others_first;
    if (yielded == net::WaitResult::cancelled) co_return util::fail(ErrorKind::cancelled, Source::client, "send");
  }
}

net::Task<util::Result<bool>> CgiConnection::fill(std::size_t keep, net::Deadline deadline, http::Patience patience) {
  at_ = end_ = keep;
  for (;;) {
    // The pump may have failed without this fiber having waited in between.
    if (exchange_->pump.failed_here()) co_return util::Failure(exchange_->pump.error());
    net::IoResult got{.status = net::IoStatus::want_read};
    if (stream_->maybe_readable()) {
      if (!in_) in_ = reactor().chunks().take();
      if (!in_) co_return util::fail(ErrorKind::overload, Source::gateway, "buffers");
      got = stream_->try_read(in_.span().subspan(keep));
    }
    if (got.status == net::IoStatus::done) {
      end_ = keep + got.bytes;
      received_ += got.bytes;
      turn_ += got.bytes;
      if (turn_ < kTurnBytes) co_return true;
      turn_ = 0;
      net::Yield others_first;
      const auto yielded = co_await others_first;
      if (yielded == net::WaitResult::cancelled) co_return util::fail(ErrorKind::cancelled, Source::client, "receive");
      co_return true;
    }
    if (got.status == net::IoStatus::end) co_return false;
    if (got.status == net::IoStatus::error) co_return util::Failure(net::io_error(got, Source::server, "receive"));
    if (keep == 0) in_.reset();
    const auto waited = co_await stream_->readable(deadline, observe::Phase::server);
    if (exchange_->pump.failed_here()) continue;
    if (waited == net::WaitResult::timeout && exchange_->pump.active() && patience == http::Patience::wait) {
      deadline = reactor().after(ms(settings_->timeouts.first_byte));
      if (head_until_ != 0) head_until_ = deadline;
      continue;
    }
    if (waited == net::WaitResult::timeout && head_until_ > reactor().now_ms()) {
      deadline = head_until_;  // the upload ended meanwhile
      continue;
    }
    if (waited != net::WaitResult::ready) co_return util::Failure(net::wait_error(waited, Source::server, "receive"));
  }
}

util::Result<void> CgiConnection::unwrap_ready() {
  while (rest_.empty() && at_ < end_ && !ended_) {
    const auto step = unwrap({in_.data() + at_, end_ - at_});
    if (!step) {
      damaged_ = true;
      return util::Failure(step.error());
    }
    at_ += step->consumed;
    rest_ = step->output;
    ended_ = step->ended;
  }
  return {};
}

// A connection that closed before a byte of the response came. On a reused one that is the keep-alive race (ADAPTERS
// X12 b).
util::Failure CgiConnection::no_answer(const util::Result<bool>& more) {
  const auto& pump = exchange_->pump;
  // The pump found the connection closed before a byte was taken: nothing was sent.
  if (pump.failed() && pump.error().retry == util::RetryClass::not_sent) return util::Failure(pump.error());
  util::Error error{
      .kind = more ? ErrorKind::closed : ErrorKind::reset, .source = Source::server, .detail = "no response"};
  if (uses() > 0) error.retry = util::RetryClass::reused_closed;
  if (uses() == 0) note_no_answer(request_bytes_);
  return util::Failure(error);
}

net::Task<util::Result<void>> CgiConnection::read_head(message::ResponseHead& head) {
  head_until_ = reactor().after(ms(settings_->timeouts.first_byte));
  for (;;) {
    const auto unwrapped = unwrap_ready();
    if (!unwrapped) co_return util::Failure(unwrapped.error());
    if (!rest_.empty()) {
      const auto step = head_decoder_.decode(rest_, exchange_->arena, exchange_->request.method, head);
      if (!step) {
        damaged_ = true;
        observe::log::warn_limited("cgi-decode", "backend {} server {}: CGI response refused: {}", server().backend(),
                                   server().name(), wire::to_string(step.error()));
        co_return util::fail_decode(step.error(), Source::server);
      }
      rest_.remove_prefix(step->consumed);
      if (step->event == http1::HeadEvent::need_more) continue;
      head_until_ = 0;
      co_return util::Result<void>{};
    }
    if (ended_) co_return util::fail(ErrorKind::protocol, Source::server, "no response head");
    const auto more = co_await fill(0, head_until_, http::Patience::wait);
    // A server that talks without end, but not to the client, gets no more time than a silent one.
    if (more && *more && !exchange_->pump.active() && reactor().now_ms() >= head_until_) {
      co_return util::fail(ErrorKind::timeout, Source::server, "receive");
    }
    const bool reset = !more && more.error().kind == ErrorKind::reset && more.error().source == Source::server;
    const bool closed = reset || (more && !*more);
    // A process that is about to end says why, when it is given the moment.
    if (closed && ends_with_stream()) static_cast<void>(co_await judge_end(0, http::Patience::wait));
    if (closed && received_ == 0) co_return no_answer(more);
    if (!more) co_return util::Failure(more.error());
    if (closed) co_return util::fail(ErrorKind::closed, Source::server, "truncated response head");
  }
}

bool CgiConnection::length_met() const noexcept {
  return framing_.kind == BodyKind::exact && content_ == framing_.length;
}

bool CgiConnection::body_complete() const noexcept {
  return framing_.kind == BodyKind::none || length_met();
}

// Whether the client has everything, and the server was not cut off in its last words: those are waited for, but not
// longer than kLastWordsMs, and not behind a body that nobody gets.
bool CgiConnection::nothing_follows() const noexcept {
  if (ended_ && rest_.empty()) return true;
  return body_complete() && (damaged_ || !says_end());
}

util::Result<void> CgiConnection::take_ready(BodyBatch& batch, std::size_t budget) {
  std::uint64_t taken = 0;
  while (!batch.full() && taken < budget) {
    if (const auto unwrapped = unwrap_ready(); !unwrapped) return unwrapped;
    if (rest_.empty()) break;
    std::uint64_t size = std::min<std::uint64_t>(rest_.size(), budget - taken);
    if (framing_.kind == BodyKind::exact) {
      size = std::min(size, framing_.length - content_);
      // More than it said: the rest is thrown away with the connection (ADAPTERS X10).
      if (size == 0) damaged_ = true;
    }
    // A body behind a 204 or the like: the connection goes with it, for it may have no end (ADAPTERS X11).
    if (framing_.kind == BodyKind::none) {
      discarded_ += size;
      if (!keeps_open() || discarded_ > kMostDiscarded) damaged_ = true;
    }
    if (framing_.kind == BodyKind::none || size == 0) {
      rest_ = {};
      continue;
    }
    batch.add(rest_.substr(0, size));
    rest_.remove_prefix(size);
    content_ += size;
    taken += size;
  }
  return {};
}

// What the end of the stream, or a failure to read, means for the body.
util::Result<void> CgiConnection::end_of_stream(const util::Result<bool>& more) {
  damaged_ = true;
  if (body_complete()) return {};
  if (!more) return util::Failure(more.error());
  if (framing_.kind == BodyKind::until_close && ends_with_stream()) {
    ended_ = true;
    return {};
  }
  return util::fail(ErrorKind::closed, Source::server, "short_response");
}

net::Task<util::Result<void>> CgiConnection::pull(BodyBatch& batch, std::size_t budget, http::Patience patience) {
  const net::Deadline gather_until = reactor().after(kGatherMs);
  // Not renewed by what the client gets nothing of, such as STDERR.
  const net::Deadline idle_until = reactor().after(ms(settings_->timeouts.idle));
  for (;;) {
    const auto taken = take_ready(batch, budget);
    if (!taken) co_return util::Failure(taken.error());
    if (nothing_follows()) break;
    if (batch.count > 0 && !may_gather(batch, end_)) break;
    if (!rest_.empty() || (at_ < end_ && !ended_)) break;  // the budget ended before it
    // With pieces in hand, or a head that waits, only a moment is spent on gathering.
    const bool gathering = batch.count > 0 || patience == http::Patience::none;
    if (gathering && !exchange_->gather && !stream_->maybe_readable()) break;
    const std::size_t keep = batch.count > 0 ? end_ : 0;
    net::Deadline deadline = gathering ? gather_until : idle_until;
    if (reactor().now_ms() >= deadline && !exchange_->pump.active()) {
      if (gathering) break;
      damaged_ = true;
      co_return util::fail(ErrorKind::timeout, Source::server, "receive");
    }
    if (body_complete()) {
      if (last_words_until_ == net::kNoDeadline) last_words_until_ = reactor().after(kLastWordsMs);
      deadline = std::min(deadline, last_words_until_);
    }
    const auto impatient = gathering || body_complete() ? http::Patience::none : http::Patience::wait;
    const auto more = co_await fill(keep, deadline, impatient);
    if (!more && gathering && more.error().kind == ErrorKind::timeout) break;
    if (more && *more) continue;
    if (more && framing_.kind == BodyKind::until_close && ends_with_stream()) {
      const auto hurry = gathering ? http::Patience::none : http::Patience::wait;
      const StreamEnd end = co_await judge_end(gather_until, hurry);
      // What came before the cut is handed on first: then this is asked again.
      if (end == StreamEnd::unknown || (end == StreamEnd::cut && batch.count > 0)) break;
      if (end == StreamEnd::cut) co_return util::fail(ErrorKind::closed, Source::server, "short_response");
    }
    const auto ended = end_of_stream(more);
    if (!ended) co_return util::Failure(ended.error());
  }
  // A length that was promised and not kept is found before the end is told.
  const bool short_body = ended_ && rest_.empty() && framing_.kind == BodyKind::exact && content_ < framing_.length;
  if (short_body) damaged_ = true;
  if (short_body && batch.count == 0) co_return util::fail(ErrorKind::closed, Source::server, "short_response");
  if (nothing_follows() && !short_body) batch.last = http::Last::yes;
  server().count_received(*exchange_, batch.bytes());
  co_return util::Result<void>{};
}

void CgiConnection::drop() noexcept {
  rest_ = {};
  in_.reset();
  // A whole answer may have work behind it, which is not to be disturbed.
  if (!ended_ && !length_met()) abandon();
  note_end();
  if (exchange_->pump.active()) {
    exchange_->pump.bury([](void* self) noexcept { static_cast<CgiConnection*>(self)->finish(Reuse::no); }, this);
    return;
  }
  out_.reset();
  const bool whole = framing_.kind != BodyKind::exact || length_met();
  const bool clean = whole && ended_ && request_sent_ && !damaged_ && at_ == end_;
  const bool kept = clean && keeps_open();
  // Both have all they want. A close in order would leave the port in TIME_WAIT for a minute, and at some hundred
  // requests a second there is soon no port left (ADAPTERS P1).
  const bool nothing_to_lose = ended_ || (length_met() && exchange_->body == nullptr);
  if (!kept && whole && request_sent_ && nothing_to_lose && !stream_->peer_closed()) stream_->abort_on_close();
  finish(kept ? Reuse::yes : Reuse::no);
}

}  // namespace pontage::upstream
