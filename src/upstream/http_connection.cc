#include "src/upstream/http_connection.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <sys/uio.h>

#include "protocols/http1/encoder.h"
#include "protocols/message/status.h"
#include "src/http/forwarding.h"
#include "src/http/request_pump.h"

namespace pontage::upstream {

namespace {
constexpr int kMostInterim = 32;
constexpr std::uint64_t kTurnBytes = 512 * 1024;  // then other fibers have their turn
}  // namespace

using config::ms;
using http::BodyBatch;
using util::ErrorKind;
using util::Source;

HttpConnection::HttpConnection(std::shared_ptr<BackendServer> server, std::unique_ptr<net::ByteStream> stream)
    : BackendConnection(std::move(server), std::move(stream)),
      settings_(this->server().settings()),
      head_decoder_(settings_->response_limits) {}

net::Task<util::Result<http::Response>> HttpConnection::round_trip(http::Exchange& exchange) {
  exchange_ = &exchange;
  server().refresh(settings_);
  received_ = 0;
  request_sent_ = damaged_ = false;
  at_ = end_ = 0;
  const auto sent = co_await send_request(exchange);
  if (!sent) co_return util::Failure(sent.error());

  http::Response response;
  const auto got = co_await read_final_head(exchange, response.head);
  if (!got) co_return util::Failure(got.error());
  persistence_ = response.head.persistence;
  if (uses() == 0 && persistence_ == message::Persistence::keep_alive) hint_at_keep_alive(response.head);
  body_decoder_.start(response.head.body, settings_->response_limits, exchange.arena);
  http::strip_response_head(response.head);
  if (body_decoder_.done()) {
    // Nothing follows: the connection is free before the client has its answer.
    const Reuse reuse = reusable();
    in_.reset();
    if (exchange.pump.active()) {
      response.body = http::BodyPtr(this);  // dropped after the head was sent; the pump is joined there
    } else {
      out_.reset();
      finish(reuse);
    }
  } else {
    response.body = http::BodyPtr(this);
  }
  co_return response;
}

net::Task<util::Result<void>> HttpConnection::send_request(http::Exchange& exchange) {
  if (exchange.body == nullptr) {
    const auto sent = co_await send_head(exchange);
    request_sent_ = sent.has_value();
    co_return sent;
  }
  exchange.pump.start(pump_body(exchange));
  co_return util::Result<void>{};
}

net::Task<util::Result<void>> HttpConnection::send_head(http::Exchange& exchange) {
  out_ = reactor().chunks().take();
  if (!out_) co_return util::fail(ErrorKind::overload, Source::gateway, "buffers");
  wire::Sink sink(out_.span());
  http::encode_forwarded_head(sink, exchange);
  if (sink.overflowed()) {
    // A head larger than a chunk is rare: encode it in the arena, where there is room for everything the limits allow.
    sink = wire::Sink(exchange.arena.chars(http::kLargestHead));
    http::encode_forwarded_head(sink, exchange);
    if (sink.overflowed()) co_return util::fail(ErrorKind::limit, Source::gateway, "headers_too_long");
  }
  iovec piece{const_cast<char*>(sink.view().data()), sink.view().size()};
  const auto sent = co_await send_first({&piece, 1}, ms(settings_->timeouts.idle));
  out_.reset();
  co_return sent;
}

// The pump's fiber: head and body. A failure here wakes the way itself only when the client is to blame; a server that
// stops reading may have answered already (CASES U01).
net::Task<void> HttpConnection::pump_body(http::Exchange& exchange) {
  auto sent = co_await send_head(exchange);
  if (sent) sent = co_await send_body(exchange);
  if (sent) {
    request_sent_ = true;
    // The time for the head counts from here.
    if (head_until_ != 0) {
      head_until_ = reactor().after(ms(settings_->timeouts.first_byte));
    }
    co_return;
  }
  damaged_ = true;
  exchange.pump.fail(sent.error());
}

net::Task<util::Result<void>> HttpConnection::send_body(http::Exchange& exchange) {
  const bool chunked = exchange.request.body.kind == message::BodyKind::chunked;
  const auto idle = ms(settings_->timeouts.idle);
  std::array<char, 32> size_line;
  BodyBatch batch;
  std::uint64_t turn = 0;
  for (;;) {
    batch.clear();
    const auto pulled = co_await exchange.body->pull(batch, 64 * 1024, http::Patience::wait);
    if (!pulled) co_return util::Failure(pulled.error());
    std::array<iovec, BodyBatch::kPieces + 3> pieces;
    std::size_t count = 0;
    const std::uint64_t bytes = batch.bytes();
    wire::Sink line(size_line);
    if (chunked && bytes > 0) {
      http1::encode_chunk_start(line, bytes);
      pieces[count++] = {size_line.data(), line.size()};
    }
    for (const auto& piece : batch.view()) {
      pieces[count++] = {const_cast<char*>(piece.memory.data()), piece.memory.size()};
    }
    static constexpr std::string_view kChunkEnd = "\r\n";
    static constexpr std::string_view kLastChunk = "0\r\n\r\n";  // request trailers are dropped (CASES U14)
    if (chunked && bytes > 0) pieces[count++] = {const_cast<char*>(kChunkEnd.data()), kChunkEnd.size()};
    const bool last = batch.last == http::Last::yes;
    if (chunked && last) pieces[count++] = {const_cast<char*>(kLastChunk.data()), kLastChunk.size()};
    if (count > 0) {
      const auto put = co_await net::write_all(*stream_, std::span(pieces.data(), count), net::More::no, idle,
                                               observe::Phase::server, Source::server);
      if (!put) co_return util::Failure(put.error());
      server().count_sent(exchange, bytes);
    }
    if (last) co_return util::Result<void>{};
    turn += bytes;
    if (turn < kTurnBytes) continue;
    turn = 0;
    net::Yield others_first;
    const auto yielded = co_await others_first;
    if (yielded == net::WaitResult::cancelled) co_return util::fail(ErrorKind::cancelled, Source::client, "send");
  }
}

net::Task<util::Result<bool>> HttpConnection::fill(net::Deadline deadline) {
  at_ = end_ = 0;
  for (;;) {
    // The pump may have failed without this fiber having waited in between.
    if (exchange_->pump.failed_here()) co_return util::Failure(exchange_->pump.error());
    net::IoResult got{.status = net::IoStatus::want_read};
    if (stream_->maybe_readable()) {
      // A buffer is held only while bytes are in it: thousands of waiting requests need none.
      if (!in_) in_ = reactor().chunks().take();
      if (!in_) co_return util::fail(ErrorKind::overload, Source::gateway, "buffers");
      got = stream_->try_read(in_.span());
    }
    if (got.status == net::IoStatus::done) {
      end_ = got.bytes;
      received_ += got.bytes;
      co_return true;
    }
    if (got.status == net::IoStatus::end) co_return false;
    if (got.status == net::IoStatus::error) co_return util::Failure(net::io_error(got, Source::server, "receive"));
    in_.reset();
    const auto waited = co_await stream_->wanted(got.status, deadline, observe::Phase::server);
    if (exchange_->pump.failed_here()) continue;
    if (waited == net::WaitResult::timeout && exchange_->pump.active()) {
      // Still uploading: the upload has deadlines of its own.
      deadline = reactor().after(ms(settings_->timeouts.first_byte));
      if (head_until_ != 0) head_until_ = deadline;
      continue;
    }
    if (waited == net::WaitResult::timeout && head_until_ > reactor().now_ms()) {
      deadline = head_until_;
      continue;
    }
    if (waited != net::WaitResult::ready) co_return util::Failure(net::wait_error(waited, Source::server, "receive"));
  }
}

// A connection that closed before a byte of the response came. On a reused one that is the keep-alive race (ADAPTERS
// X12 b).
util::Error HttpConnection::no_response(const http::Exchange& exchange, ErrorKind kind, int os_error) const noexcept {
  util::Error error{.kind = kind, .source = Source::server, .os_error = os_error, .detail = "no response"};
  // The pump found the connection closed before a byte was taken: nothing was sent.
  if (exchange.pump.failed() && exchange.pump.error().retry == util::RetryClass::not_sent) return exchange.pump.error();
  if (uses() > 0 && received_ == 0) error.retry = util::RetryClass::reused_closed;
  if (exchange.pump.failed()) error.detail = "closed during upload";
  return error;
}

net::Task<util::Result<void>> HttpConnection::read_final_head(http::Exchange& exchange, message::ResponseHead& head) {
  head_decoder_.reset();
  // For the whole head, interim responses included: a server that sends a byte at a time gains nothing.
  head_until_ = reactor().after(ms(settings_->timeouts.first_byte));
  const message::Arena::Mark before = exchange.arena.mark();
  for (int interim = 0;;) {
    if (at_ == end_) {
      auto more = co_await fill(head_until_);
      const bool server_reset = !more && more.error().kind == ErrorKind::reset && more.error().source == Source::server;
      if (server_reset && received_ == 0) {
        co_return util::Failure(no_response(exchange, ErrorKind::reset, more.error().os_error));
      }
      if (!more) co_return util::Failure(more.error());
      if (!*more) co_return util::Failure(no_response(exchange, ErrorKind::closed, 0));
    }
    auto step = head_decoder_.decode({in_.data() + at_, end_ - at_}, exchange.arena, exchange.request.method, head);
    if (!step) {
      if (received_ == end_) hint_at(step.error());
      co_return util::fail_decode(step.error(), Source::server);
    }
    at_ += step->consumed;
    if (step->event == http1::HeadEvent::need_more) continue;
    if (!message::is_interim(head.status)) {
      head_until_ = 0;
      co_return util::Result<void>{};
    }
    if (++interim > kMostInterim) co_return util::fail(ErrorKind::protocol, Source::server, "interim responses");
    if (head.status == 101) co_return util::fail(ErrorKind::protocol, Source::server, "unasked 101");
    if (exchange.interim != nullptr && head.status != 100) {
      const auto passed = co_await exchange.interim->send_interim(head);
      if (!passed) co_return util::Failure(passed.error());
    }
    head_decoder_.reset();
    head = {};
    // The pump keeps what it sends in the same arena; with it the few interim heads stay.
    if (!exchange.pump.active()) exchange.arena.rollback(before);
  }
}

// The first bytes of an answer were not HTTP.
void HttpConnection::hint_at(wire::DecodeError error) const noexcept {
  if (error != wire::DecodeError::malformed_status_line && error != wire::DecodeError::unsupported_version) return;
  const Symptom shown = symptom_of_bytes({in_.data(), end_});
  if (shown != Symptom::speaks_http) server().hints().note(shown, "HTTP");
}

// A server that says how long it keeps connections is taken at its word: `Keep-Alive: timeout=5` (RFC 2068 19.7.1.1).
void HttpConnection::hint_at_keep_alive(const message::ResponseHead& head) const noexcept {
  constexpr std::string_view kName = "timeout=";
  const std::string_view says = head.headers.value(message::HeaderId::keep_alive);
  const auto at = says.find(kName);
  if (at == std::string_view::npos) return;
  const auto digits = says.substr(at + kName.size());
  unsigned seconds = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  if (read.ec != std::errc{} || seconds > 86'400 || settings_->pool.idle == 0) return;
  if (1000ULL * seconds <= settings_->pool.idle_ms)
    server().hints().note(Symptom::idle_longer, duration_text(1000ULL * seconds));
}

util::Result<void> HttpConnection::decode_ready(BodyBatch& batch, std::size_t budget) {
  std::uint64_t taken = 0;
  while (!batch.full() && taken < budget) {
    const auto step = body_decoder_.decode({in_.data() + at_, std::min<std::uint64_t>(end_ - at_, budget - taken)});
    if (!step) return util::fail_decode(step.error(), Source::server);
    at_ += step->consumed;
    if (step->event == http1::BodyEvent::need_more) {
      if (at_ == end_) return {};
      continue;
    }
    if (step->event == http1::BodyEvent::end) {
      batch.last = http::Last::yes;
      trailers_ = http::forwardable_trailers(body_decoder_.trailers(), exchange_->arena);
      if (!trailers_.empty()) batch.trailers = &trailers_;
      return {};
    }
    batch.add(step->data);
    taken += step->data.size();
  }
  return {};
}

net::Task<util::Result<void>> HttpConnection::pull(BodyBatch& batch, std::size_t budget, http::Patience patience) {
  for (;;) {
    const auto decoded = decode_ready(batch, budget);
    if (!decoded) {
      damaged_ = true;
      co_return util::Failure(decoded.error());
    }
    if (batch.count > 0 || batch.last == http::Last::yes) break;
    if (patience == http::Patience::none && !stream_->maybe_readable()) break;
    auto more = co_await fill(reactor().after(ms(settings_->timeouts.idle)));
    if (!more) {
      damaged_ = true;
      co_return util::Failure(more.error());
    }
    if (*more) continue;
    damaged_ = true;  // the stream is over, whatever the framing says
    if (!body_decoder_.finish()) co_return util::fail(ErrorKind::closed, Source::server, "short_response");
    batch.last = http::Last::yes;
    break;
  }
  server().count_received(*exchange_, batch.bytes());
  co_return util::Result<void>{};
}

Reuse HttpConnection::reusable() const noexcept {
  const bool clean = body_decoder_.done() && at_ == end_ && request_sent_ && !damaged_;
  return clean && persistence_ == message::Persistence::keep_alive ? Reuse::yes : Reuse::no;
}

void HttpConnection::drop() noexcept {
  const Reuse reuse = reusable();
  in_.reset();
  if (!exchange_->pump.active()) out_.reset();
  if (exchange_->pump.active()) {
    exchange_->pump.bury([](void* self) noexcept { static_cast<HttpConnection*>(self)->finish(Reuse::no); }, this);
    return;
  }
  finish(reuse);
}

}  // namespace pontage::upstream
