#include "src/upstream/ajp_connection.h"

#include <algorithm>
#include <array>

#include "protocols/ajp13/request_encoder.h"
#include "src/http/forwarding.h"
#include "src/observe/log.h"
#include "src/upstream/ajp_request.h"
#include "src/upstream/gather.h"

namespace pontage::upstream {

using ajp13::ResponseEvent;
using config::ms;
using http::BodyBatch;
using message::BodyKind;
using message::HeaderId;
using util::ErrorKind;
using util::Source;

namespace {

constexpr std::uint32_t kMostEmptyAnswers = 8;

util::Failure refusal(const ajp13::EncodeRefusal& why, const BackendServer& server) {
  using Reason = ajp13::EncodeRefusal::Reason;
  if (why.reason == Reason::bad_target) {
    return util::Failure(util::Error{.kind = ErrorKind::protocol,
                                     .source = Source::client,
                                     .decode = wire::DecodeError::malformed_target,
                                     .detail = "target"});
  }
  observe::log::warn_limited("ajp-431",
                             "backend {} server {}: request head too large for one AJP packet: header {} has {} bytes, "
                             "packet_size {} is needed",
                             server.backend(), server.name(), why.header, why.header_size, why.packet_size_needed);
  return util::Failure(util::Error{.kind = ErrorKind::limit,
                                   .source = Source::gateway,
                                   .decode = wire::DecodeError::packet_too_long,
                                   .detail = "request head larger than packet_size"});
}

// Whether the answer is one like the others: no body to wait for, nothing that makes it a short one.
bool is_usual(const http::Exchange& exchange) {
  const message::RequestHead& request = exchange.request;
  return exchange.body == nullptr && request.method != message::Method::head &&
         !request.headers.has(HeaderId::if_none_match) && !request.headers.has(HeaderId::if_modified_since) &&
         !request.headers.has(HeaderId::range);
}

}  // namespace

AjpConnection::AjpConnection(std::shared_ptr<BackendServer> server, std::unique_ptr<net::ByteStream> stream)
    : BackendConnection(std::move(server), std::move(stream)),
      settings_(this->server().settings()),
      decoder_(settings_->packet_size, settings_->response_limits) {}

net::Task<util::Result<http::Response>> AjpConnection::round_trip(http::Exchange& exchange) {
  exchange_ = &exchange;
  const std::size_t packet_size = settings_->packet_size;
  server().refresh(settings_);
  if (settings_->packet_size != packet_size) {  // a reload changed it: this connection was made for the old one
    co_return util::Failure(util::Error{.kind = ErrorKind::closed,
                                        .source = Source::server,
                                        .retry = util::RetryClass::not_sent,
                                        .detail = "packet_size changed"});
  }
  received_ = content_ = 0;
  asked_ = 0;
  empty_answers_ = 0;
  body_ended_ = keep_ = damaged_ = false;
  body_sent_ = exchange.body == nullptr;
  at_ = end_ = 0;
  mark_ = 0;
  usual_ = false;
  decoder_.reset();
  const auto sent = co_await send_request(exchange);
  if (!sent) co_return util::Failure(sent.error());

  http::Response response;
  const auto got = co_await read_head(response.head);
  if (!got) co_return util::Failure(got.error());
  framing_ = response.head.body;
  status_ = response.head.status;
  http::strip_response_head(response.head);
  // Without a length the body's end is END_RESPONSE: the client gets chunks.
  response.body = http::BodyPtr(this);
  co_return response;
}

net::Task<util::Result<void>> AjpConnection::send_request(http::Exchange& exchange) {
  const auto headers = ajp_headers(exchange);
  const ajp13::ForwardRequest forward = make_ajp_request(exchange, headers, settings_->secret);
  const bool large = settings_->packet_size > net::ChunkPool::kChunk;
  net::Chunk out;
  if (!large) out = reactor().chunks().take();
  if (!large && !out) co_return util::fail(ErrorKind::overload, Source::gateway, "buffers");
  wire::Sink sink(large ? exchange.arena.chars(settings_->packet_size) : out.span());
  const auto encoded = ajp13::encode_forward_request(sink, forward, settings_->packet_size);
  if (!encoded) co_return refusal(encoded.error(), server());
  const std::span<const char> head(sink.view());
  // ADAPTERS A15, A18: a body packet follows unasked exactly when a content-length above 0 was sent.
  if (exchange.request.body.kind == BodyKind::exact) {
    const auto first =
        co_await send_body_packet(head, ajp13::request_data_room(settings_->packet_size), http::Patience::none);
    co_return first;
  }
  set_mark(exchange);
  iovec piece{const_cast<char*>(head.data()), head.size()};
  const auto sent = co_await send_first({&piece, 1}, ms(settings_->timeouts.idle));
  co_return sent;
}

void AjpConnection::set_mark(const http::Exchange& exchange) noexcept {
  // A unix socket does not know of marks.
  sent_ms_ = reactor().now_ms();
  usual_ = settings_->url.unix_path.empty() && exchange.gather && is_usual(exchange);
  mark_ = usual_ ? answer_mark_.next(net::ChunkPool::kChunk) : 0;
  if (mark_ == 0) return;
  mark_until_ = reactor().after(answer_mark_.patience_ms());
  stream_->wake_at(mark_);
}

void AjpConnection::lift_mark() noexcept {
  mark_ = 0;
  stream_->wake_at(1);
}

net::Task<net::WaitResult> AjpConnection::wait_readable(net::Deadline deadline) {
  // What came reached the mark and is not the whole answer.
  if (mark_ != 0 && received_ > 0) {
    lift_mark();
    answer_mark_.failed();
  }
  if (mark_ != 0 && mark_until_ < deadline) {
    const auto waited = co_await stream_->readable(mark_until_, observe::Phase::server);
    if (waited != net::WaitResult::timeout) co_return waited;
    lift_mark();
    answer_mark_.failed();
  }
  const auto waited = co_await stream_->readable(deadline, observe::Phase::server);
  co_return waited;
}

net::Task<util::Result<void>> AjpConnection::send_body_packet(std::span<const char> head, std::size_t most,
                                                              http::Patience patience) {
  BodyBatch batch;
  const std::size_t budget = std::min(most, ajp13::request_data_room(settings_->packet_size));
  const auto idle = ms(settings_->timeouts.idle);
  for (;;) {
    if (!body_sent_) {
      batch.clear();
      const auto pulled = co_await exchange_->body->pull(batch, budget, patience);
      if (!pulled) {
        damaged_ = true;  // ADAPTERS A19: a body cut short must not look complete; the connection is closed
        co_return util::Failure(pulled.error());
      }
      if (batch.last == http::Last::yes) body_sent_ = true;
    }
    std::array<iovec, BodyBatch::kPieces + 2> pieces;
    std::size_t count = 0;
    if (!head.empty()) pieces[count++] = {const_cast<char*>(head.data()), head.size()};
    const std::size_t bytes = static_cast<std::size_t>(batch.bytes());
    std::array<char, ajp13::kBodyHeader> data_header;
    std::array<char, 8> end_packet;
    wire::Sink end(end_packet);
    if (bytes > 0) {
      data_header = ajp13::body_header(bytes);
      pieces[count++] = {data_header.data(), data_header.size()};
      for (const auto& piece : batch.view())
        pieces[count++] = {const_cast<char*>(piece.memory.data()), piece.memory.size()};
    } else if (body_sent_) {
      ajp13::encode_body_end(end);
      pieces[count++] = {end_packet.data(), end.size()};
    }
    if (count > 0) {
      const auto put = co_await net::write_all(*stream_, std::span(pieces.data(), count), net::More::no, idle,
                                               observe::Phase::server, Source::server);
      if (!put) {
        damaged_ = true;
        co_return util::Failure(put.error());
      }
      server().count_sent(*exchange_, bytes);
    }
    if (bytes > 0 || body_sent_) co_return util::Result<void>{};
    // The head went ahead; the first bytes of the body are still on their way to us.
    head = {};
    patience = http::Patience::wait;
  }
}

// `keep` bytes at the front of in_ are still looked at; the rest is room.
net::Task<util::Result<bool>> AjpConnection::fill(std::size_t keep, net::Deadline deadline) {
  at_ = end_ = keep;
  for (;;) {
    net::IoResult got{.status = net::IoStatus::want_read};
    if (stream_->maybe_readable()) {
      if (!in_) in_ = reactor().chunks().take();
      if (!in_) co_return util::fail(ErrorKind::overload, Source::gateway, "buffers");
      got = stream_->try_read(in_.span().subspan(keep));
    }
    if (got.status == net::IoStatus::done) {
      end_ = keep + got.bytes;
      received_ += got.bytes;
      co_return true;
    }
    if (got.status == net::IoStatus::end) co_return false;
    if (got.status == net::IoStatus::error) co_return util::Failure(net::io_error(got, Source::server, "receive"));
    if (keep == 0) in_.reset();
    const auto waited = co_await wait_readable(deadline);
    if (waited != net::WaitResult::ready) co_return util::Failure(net::wait_error(waited, Source::server, "receive"));
  }
}

util::Result<ajp13::ResponseStep> AjpConnection::decode(message::ResponseHead& head) {
  const auto step = decoder_.decode({in_.data() + at_, end_ - at_}, exchange_->arena, exchange_->request.method, head);
  if (!step) {
    damaged_ = true;
    log_decode_error(step.error());
    return util::fail_decode(step.error(), Source::server);
  }
  at_ += step->consumed;
  if (step->event == ResponseEvent::get_body_chunk) {
    asked_ = step->requested;
    if (asked_ == 0) {
      damaged_ = true;
      return util::fail_decode(wire::DecodeError::bad_length, Source::server);
    }
    if (asked_ > ajp13::request_data_room(settings_->packet_size)) {
      server().hints().note(Symptom::packet_larger, std::to_string(settings_->packet_size));
    }
    if (body_sent_ && ++empty_answers_ > kMostEmptyAnswers) {
      return util::fail_decode(wire::DecodeError::unexpected_message, Source::server);
    }
  }
  return *step;
}

net::Task<util::Result<void>> AjpConnection::read_head(message::ResponseHead& head) {
  // For the whole head; it begins anew when the container has got another piece of the request body.
  net::Deadline deadline = reactor().after(ms(settings_->timeouts.first_byte));
  for (;;) {
    if (at_ == end_) {
      const auto more = co_await fill(0, deadline);
      const bool nothing_came = received_ == 0 && (!more ? more.error().kind == ErrorKind::reset : !*more);
      if (nothing_came) {
        util::Error error{.kind = ErrorKind::closed, .source = Source::server, .detail = "no response"};
        if (uses() > 0) error.retry = util::RetryClass::reused_closed;
        co_return util::Failure(error);
      }
      if (!more) co_return util::Failure(more.error());
      if (!*more) co_return util::fail(ErrorKind::closed, Source::server, "no response");
      // One that talks without end, but gives no head, gets no more time than a silent one.
      if (reactor().now_ms() >= deadline) co_return util::fail(ErrorKind::timeout, Source::server, "receive");
    }
    const auto step = decode(head);
    if (!step) co_return util::Failure(step.error());
    if (step->event == ResponseEvent::head) co_return util::Result<void>{};
    if (step->event == ResponseEvent::get_body_chunk) {
      const auto answered = co_await send_body_packet({}, std::exchange(asked_, 0), http::Patience::wait);
      if (!answered) co_return util::Failure(answered.error());
      deadline = reactor().after(ms(settings_->timeouts.first_byte));
    }
  }
}

// Everything that is in in_; true when there is something to say about it.
util::Result<bool> AjpConnection::decode_ready(BodyBatch& batch, std::size_t budget) {
  std::uint64_t taken = 0;
  while (at_ < end_ && !batch.full() && taken < budget && asked_ == 0 && !body_ended_) {
    const auto step = decode(ignored_);
    if (!step) return util::Failure(step.error());
    switch (step->event) {
      case ResponseEvent::body:
        if (framing_.kind == BodyKind::none)
          break;  // HEAD, 204, 304: discarded, the connection stays usable (ADAPTERS X11)
        batch.add(step->data);
        content_ += step->data.size();
        taken += step->data.size();
        break;
      case ResponseEvent::flush: batch.flush = http::Flush::now; break;
      case ResponseEvent::end:
        body_ended_ = true;
        keep_ = step->reuse == ajp13::Reuse::yes;
        hint_at_refusal();
        batch.last = http::Last::yes;
        break;
      default: break;
    }
    if (framing_.kind == BodyKind::exact && content_ > framing_.length) {
      damaged_ = true;
      return util::fail(ErrorKind::protocol, Source::server, "long_response");
    }
  }
  return batch.count > 0 || body_ended_;
}

net::Task<util::Result<void>> AjpConnection::pull(BodyBatch& batch, std::size_t budget, http::Patience patience) {
  const net::Deadline gather_until = reactor().after(kGatherMs);
  // Not renewed by what the client gets nothing of: flushes, and the body of an answer to HEAD.
  net::Deadline idle_until = reactor().after(ms(settings_->timeouts.idle));
  for (;;) {
    const auto some = decode_ready(batch, budget);
    if (!some) co_return util::Failure(some.error());
    if (body_ended_ || batch.full()) break;
    if (batch.count > 0 && (asked_ != 0 || !may_gather(batch, end_))) break;
    // The head must not wait for a client that waits for it.
    if (asked_ != 0 && patience == http::Patience::none) break;
    if (asked_ != 0) {
      const auto answered = co_await send_body_packet({}, std::exchange(asked_, 0), http::Patience::wait);
      if (!answered) co_return util::Failure(answered.error());
      idle_until = reactor().after(ms(settings_->timeouts.idle));
      continue;
    }
    // With pieces in hand, or a head that waits, only a moment is spent on gathering.
    const bool gathering = batch.count > 0 || patience == http::Patience::none;
    if (gathering && batch.flush == http::Flush::now) break;
    if (gathering && !exchange_->gather && !stream_->maybe_readable()) break;
    if (framing_.kind == BodyKind::none && stream_->maybe_readable()) {  // discarding: others have their turn meanwhile
      net::Yield others_first;
      const auto yielded = co_await others_first;
      if (yielded == net::WaitResult::cancelled) co_return util::fail(ErrorKind::cancelled, Source::client, "receive");
    }
    const std::size_t keep = batch.count > 0 ? end_ : 0;
    const net::Deadline deadline = gathering ? gather_until : idle_until;
    if (reactor().now_ms() >= deadline) {
      if (gathering) break;
      damaged_ = true;
      co_return util::fail(ErrorKind::timeout, Source::server, "receive");
    }
    const auto more = co_await fill(keep, deadline);
    if (!more && gathering && more.error().kind == ErrorKind::timeout) break;
    if (!more || !*more) {
      damaged_ = true;
      if (!more) co_return util::Failure(more.error());
      co_return util::fail(ErrorKind::closed, Source::server, "short_response");
    }
  }
  server().count_received(*exchange_, batch.bytes());
  co_return util::Result<void>{};
}

void AjpConnection::drop() noexcept {
  in_.reset();
  const bool whole = framing_.kind != BodyKind::exact || content_ == framing_.length;
  const bool clean = whole && body_ended_ && keep_ && body_sent_ && !damaged_ && at_ == end_ && decoder_.done();
  if (clean && usual_) answer_mark_.answered(received_, reactor().now_ms() - sent_ms_);
  // Idle, it wakes for every byte: none belongs to an exchange (ADAPTERS X20).
  if (clean && mark_ != 0) {
    lift_mark();
    answer_mark_.helped();
  }
  finish(clean ? Reuse::yes : Reuse::no);
}

}  // namespace pontage::upstream
