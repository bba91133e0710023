#include "src/frontend/http2_stream.h"

#include "src/frontend/http2_session.h"
#include "src/http/error_page.h"
#include "src/http/forwarding.h"
#include "src/http/spool.h"

namespace pontage::frontend {

using config::ms;
using http2::BodyFollows;
using http2::ErrorCode;
using net::WaitResult;
using util::ErrorKind;
using util::Source;

namespace {
constexpr std::size_t kPullBudget = 64 * 1024;
constexpr std::uint64_t kGraceMs = 1000;  // for the rest of a request whose answer is out already
}  // namespace

http2::ServerEvents::Opened Http2Stream::open(Http2Session& session) {
  SessionHost& host = session.host();
  session_ = &session;
  fiber_.revive();
  exchange_.reset();
  exchange_.fiber = &fiber_;
  exchange_.connection = &session.connection();
  exchange_.metrics = &host.metrics();
  exchange_.interim = this;
  exchange_.unix_seconds = host.reactor().unix_seconds();
  routed_.site = host.site();
  routed_.route = nullptr;
  exchange_.ledger.begin(host.reactor().turn_cycles());
  body_.start(*this, exchange_);
  file_.use(host.reactor(), host.disk());
  refused_.reset();
  offered_first_ = offered_count_ = 0;
  offered_bytes_ = body_sent_ = 0;
  ignored_ = 0;
  trailers_ = nullptr;
  state_ = State::opened;
  more_at_hand_ = offered_last_ = closed_ = request_ended_ = started_ = body_ended_ = ended_ = reset_ = continue_due_ =
      false;
  return {.stream = this, .arena = &exchange_.arena, .head = &exchange_.request};
}

void Http2Stream::set_head(wire::Expected<void, wire::DecodeError> result, BodyFollows follows) noexcept {
  if (!result) refused_ = result.error();
  request_ended_ = follows == BodyFollows::no;
  continue_due_ = exchange_.request.expect_continue && !request_ended_;
  state_ = State::queued;
}

void Http2Stream::release() noexcept {
  body_.clear();
  file_.clear();
  exchange_.spool.reset();
  routed_ = {};
}

void Http2Stream::start() {
  state_ = State::running;
  fiber_.charge_to(&exchange_.ledger);
  net::launch(fiber_, run(), &Http2Stream::on_done, this);
}

void Http2Stream::on_done(void* self) noexcept {
  auto& stream = *static_cast<Http2Stream*>(self);
  stream.state_ = State::over;
  stream.body_.clear();
  stream.file_.clear();
  // A client that still sends what nobody reads is told to stop (RFC 9113 8.1); an answer that broke off is reset.
  if (!stream.closed_ && !stream.ended_) stream.reset(ErrorCode::internal_error);
  if (!stream.closed_ && !stream.request_ended_) stream.reset(ErrorCode::no_error);
  stream.session_->stream_done(stream);
}

net::Task<void> Http2Stream::run() {
  SessionHost& host = session_->host();
  host.metrics().gauge_add(host.series().in_flight, 1);
  bool out_of_memory = false;
  try {
    co_await serve();
  } catch (const std::bad_alloc&) {
    out_of_memory = true;
  }
  if (out_of_memory) {
    if (exchange_.pump.active()) co_await exchange_.pump.join();
    note_error(exchange_, {.kind = ErrorKind::overload, .source = Source::gateway, .detail = "memory"});
  }
  host.metrics().gauge_add(host.series().in_flight, -1);
  report(host, exchange_, routed_);
  fiber_.charge_to(nullptr);
  if (ended_ && !request_ended_ && !closed_) co_await await_request_end();
}

// Most clients have sent the rest already when they read an early answer. Not so the others: RFC 9113 8.1 lets us tell
// them to stop, which some of them take for a failure.
net::Task<void> Http2Stream::await_request_end() {
  state_ = State::answered;
  body_.clear();
  file_.clear();
  const net::Deadline until = session_->host().reactor().after(kGraceMs);
  while (!request_ended_ && !closed_ && !ignores_too_much()) {
    const auto waited = co_await taken_.wait(until, observe::Phase::client);
    if (waited != WaitResult::ready) co_return;
  }
}

net::Task<void> Http2Stream::serve() {
  if (refused_) {
    const util::Error error = util::fail_decode(*refused_, Source::client).error();
    exchange_.request.headers = {};
    http::Response page = error_response(exchange_, error);
    co_await answer(std::move(page));
    co_return;
  }
  const config::Config& config = routed_.site->config;
  if (exchange_.request.body.kind != message::BodyKind::none) exchange_.body = &body_;
  http::identify_client(exchange_, *routed_.site->forwarding);
  const auto found = find_route(exchange_, routed_);
  const std::uint64_t limit = routed_.route != nullptr ? routed_.route->body_limit : config.limits.body;
  const BodyRules rules{.limit = limit, .idle_ms = ms(config.client.body_idle), .min_rate = config.client.min_rate};
  body_.set_rules(rules);
  if (!found) {
    http::Response page = error_response(exchange_, found.error());
    co_await answer(std::move(page));
    co_return;
  }
  auto response = co_await respond(exchange_, routed_);
  if (!response) {
    if (exchange_.pump.active()) co_await exchange_.pump.join();
    co_return;
  }
  co_await answer(std::move(*response));
}

net::Task<void> Http2Stream::answer(http::Response response) {
  auto sent = co_await send(response);
  response.body.reset();
  if (exchange_.pump.active()) co_await exchange_.pump.join();
  const bool may_say = !started_ && !closed_ && !fiber_.cancelled();
  if (!sent && may_say && sent.error().source != Source::client) {
    // The body failed before the head was out: there is still room for a proper answer.
    http::Response page = error_response(exchange_, sent.error());
    sent = co_await send(page);
  }
  if (!sent) {
    note_error(exchange_, sent.error());
    // The client does not read, or stopped in mid-request: it is its stream that ends.
    if (sent.error().source == Source::client && !ended_) reset(ErrorCode::cancel);
  }
}

util::Result<void> Http2Stream::respond_head(const http::Response& response, BodyFollows follows) {
  std::size_t size = 0;
  for (const auto& h : response.head.headers) size += h.name.size() + h.value.size() + 4;
  if (size > http::kLargestHead) return util::fail(ErrorKind::limit, Source::server, "headers_too_long");
  if (closed_) return util::fail(ErrorKind::cancelled, Source::client, "send");
  if (!session_->respond(*this, response.head, follows)) {
    return util::fail(ErrorKind::overload, Source::gateway, "memory");
  }
  continue_due_ = false;
  started_ = true;
  return {};
}

// A body that disagrees with the length in the head must not reach the client as if it were whole (ADAPTERS X10).
util::Result<void> Http2Stream::account(std::uint64_t bytes, const message::BodyFraming& framing, bool last) noexcept {
  body_sent_ += bytes;
  if (framing.kind != message::BodyKind::exact) return {};
  if (body_sent_ > framing.length) return util::fail(ErrorKind::protocol, Source::server, "long_response");
  if (last && body_sent_ < framing.length) return util::fail(ErrorKind::closed, Source::server, "short_response");
  return {};
}

net::Task<util::Result<void>> Http2Stream::send(http::Response& response) {
  exchange_.outcome.status = response.head.status;
  body_sent_ = 0;
  const bool head_only = exchange_.request.method == message::Method::head;
  http::BodyBatch batch;
  batch.last = http::Last::yes;
  if (response.body != nullptr) {
    batch.clear();
    const auto pulled = co_await response.body->pull(batch, kPullBudget, http::Patience::none);
    if (!pulled) co_return pulled;
    if (head_only) batch.clear();
    if (head_only) batch.last = http::Last::yes;
  }
  bool last = batch.last == http::Last::yes;
  const bool bare = last && batch.count == 0 && batch.trailers == nullptr;
  if (!head_only && response.body != nullptr) {
    const auto fits = account(batch.bytes(), response.head.body, last);
    if (!fits) co_return fits;
  }
  const auto begun = respond_head(response, bare ? BodyFollows::no : BodyFollows::yes);
  if (!begun) co_return begun;
  if (bare) {
    const auto taken = co_await wait_until_taken();
    co_return taken;
  }
  for (;;) {
    const auto sent = co_await send_batch(batch);
    if (!sent) co_return sent;
    if (last) co_return util::Result<void>{};
    batch.clear();
    const auto pulled = co_await response.body->pull(batch, kPullBudget, http::Patience::wait);
    if (!pulled) co_return pulled;
    last = batch.last == http::Last::yes;
    const auto fits = account(batch.bytes(), response.head.body, last);
    if (!fits) co_return fits;
  }
}

net::Task<util::Result<void>> Http2Stream::send_batch(const http::BodyBatch& batch) {
  trailers_ = batch.trailers;
  offered_first_ = offered_count_ = 0;
  for (std::size_t i = 0; i < batch.count; ++i) {
    const http::Piece& piece = batch.pieces[i];
    if (piece.file < 0) {
      offered_[offered_count_++] = piece.memory;
      continue;
    }
    if (offered_count_ > 0) {
      const auto before = co_await offer(http::Last::no);
      if (!before) co_return before;
    }
    more_at_hand_ = false;
    const bool ends = i + 1 == batch.count && batch.last == http::Last::yes;
    const auto sent = co_await send_file(piece, ends ? http::Last::yes : http::Last::no);
    if (!sent || ends) co_return sent;
  }
  if (offered_count_ == 0 && batch.last == http::Last::no) co_return util::Result<void>{};
  more_at_hand_ = batch.last == http::Last::no && batch.bytes() >= kPullBudget;
  const auto rest = co_await offer(batch.last);
  co_return rest;
}

net::Task<util::Result<void>> Http2Stream::send_file(const http::Piece& piece, http::Last last) {
  std::uint64_t offset = piece.offset;
  std::uint64_t left = piece.count;
  while (left > 0) {
    const auto got = co_await file_.read(piece.file, offset, left);
    if (!got) co_return util::Failure(got.error());
    offset += *got;
    left -= *got;
    for (const std::string_view part : file_.parts()) offered_[offered_count_++] = part;
    more_at_hand_ = left > 0;
    const auto taken = co_await offer(left == 0 ? last : http::Last::no);
    if (!taken) co_return taken;
  }
  co_return util::Result<void>{};
}

// Lets the connection have what is in offered_, and waits until it has taken all of it.
net::Task<util::Result<void>> Http2Stream::offer(http::Last last) {
  offered_first_ = 0;
  offered_bytes_ = 0;
  for (std::size_t i = 0; i < offered_count_; ++i) offered_bytes_ += offered_[i].size();
  offered_last_ = last == http::Last::yes;
  session_->resume(*this);
  const auto taken = co_await wait_until_taken();
  offered_first_ = offered_count_ = 0;
  offered_bytes_ = 0;
  if (!taken) offered_last_ = false;
  co_return taken;
}

net::Task<util::Result<void>> Http2Stream::wait_until_taken() {
  const std::uint64_t patience = ms(routed_.site->config.client.send_idle);
  const bool to_the_end = offered_last_ || offered_count_ == 0;
  std::uint64_t before = exchange_.outcome.bytes_out;
  while (to_the_end ? !ended_ : offered_bytes_ > 0) {
    if (closed_) co_return util::fail(ErrorKind::cancelled, Source::client, "send");
    const net::Deadline deadline = session_->host().reactor().after(patience);
    const auto waited = co_await taken_.wait(deadline, observe::Phase::client);
    if (waited == WaitResult::ready) continue;
    // Not the client's fault while others of its streams come first.
    const bool moves = exchange_.outcome.bytes_out != before || session_->waits_for_turn(*this, patience);
    if (waited == WaitResult::timeout && moves) {
      before = exchange_.outcome.bytes_out;
      continue;
    }
    co_return util::Failure(net::wait_error(waited, Source::client, "send"));
  }
  co_return util::Result<void>{};
}

net::Task<util::Result<void>> Http2Stream::send_interim(const message::ResponseHead& head) {
  if (!closed_ && !started_) session_->respond_interim(*this, head);
  return net::Task<util::Result<void>>::ready({});
}

void Http2Stream::on_body_wanted() noexcept {
  if (!continue_due_ || closed_ || started_) return;
  continue_due_ = false;
  message::ResponseHead head;
  head.status = 100;
  session_->respond_interim(*this, head);
}

void Http2Stream::on_body_used(std::size_t bytes) noexcept {
  session_->credit(*this, bytes);
}

void Http2Stream::reset(ErrorCode code) noexcept {
  if (closed_ || reset_) return;
  reset_ = true;
  session_->reset(*this, code);
}

}  // namespace pontage::frontend
