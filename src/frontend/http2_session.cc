#include "src/frontend/http2_session.h"

#include <algorithm>

#include "src/observe/log.h"

namespace pontage::frontend {

using config::ms;
using http2::BodyFollows;
using http2::ErrorCode;
using http2::Fault;
using net::WaitResult;

namespace {

constexpr std::uint64_t kLingerMs = 2000;
constexpr std::uint64_t kPongMs = 1000;         // a GOAWAY's round trip
constexpr int kReadsPerTurn = 8;                // then other fibers have their turn
constexpr std::size_t kTurnBytes = 512 * 1024;  // the same for sending
constexpr std::size_t kHeldStreams = 8;         // full streams that may wait before the connection is held up
constexpr std::size_t kMostQueued = 1024;       // frames that wait for a client who does not read
constexpr std::size_t kSpareStreams = 256;

http2::ServerLimits limits_of(const config::Config& config) noexcept {
  http2::ServerLimits limits;
  limits.head = config.limits;
  limits.streams = static_cast<std::uint32_t>(config.limits.streams);
  limits.stream_window = static_cast<std::uint32_t>(config.limits.stream_buffer);
  return limits;
}

bool same(const http2::ServerLimits& a, const http2::ServerLimits& b) noexcept {
  return a.streams == b.streams && a.stream_window == b.stream_window && a.head.headers == b.head.headers &&
         a.head.request_line == b.head.request_line && a.head.header == b.head.header &&
         a.head.header_count == b.head.header_count;
}

}  // namespace

Http2Session::Http2Session(SessionHost& host, std::unique_ptr<net::ByteStream> stream, http::ConnectionInfo connection,
                           SessionRules rules, std::string_view received)
    : host_(&host),
      stream_(std::move(stream)),
      connection_(std::move(connection)),
      rules_(rules),
      limits_(limits_of(host.site()->config)),
      fiber_(host.reactor()),
      server_(*this, limits_),
      output_(*stream_),
      received_(received) {}

Http2Session::~Http2Session() = default;

void Http2Session::start() {
  moved_ms_ = host_->reactor().now_ms();
  idle_until_ = host_->reactor().after(ms(host_->site()->config.client.head));
  if (host_->draining() && server_.good()) begin_drain();
  net::launch(fiber_, run(), &Http2Session::on_done, this);
}

void Http2Session::on_done(void* self) noexcept {
  auto& session = *static_cast<Http2Session*>(self);
  session.dead_ = true;
  session.end_streams();
  if (session.streams_.empty()) session.host_->remove(session);
}

// Nobody reads their answers any more. What was not started yet goes at once, the rest as it unwinds.
void Http2Session::end_streams() noexcept {
  begun_.clear();
  trailing_.clear();
  broken_.clear();
  for (std::size_t i = streams_.size(); i-- > 0;) {
    Http2Stream& stream = *streams_[i];
    if (!stream.closed()) stream.close(ErrorCode::cancel);
    if (stream.disposable()) dispose(stream);
  }
}

void Http2Session::dispose(Http2Stream& stream) noexcept {
  const auto at = std::find_if(streams_.begin(), streams_.end(), [&](const auto& s) { return s.get() == &stream; });
  std::unique_ptr<Http2Stream> kept = std::move(*at);
  *at = std::move(streams_.back());
  streams_.pop_back();
  kept->release();
  host_->metrics().gauge_add(host_->series().h2_streams, -1);
  if (streams_.empty()) {
    const auto& client = host_->site()->config.client;
    idle_until_ = host_->reactor().after(ms(served_ ? client.keep_alive : client.head));
  }
  auto& spare = host_->spare_streams();
  if (spare.size() < kSpareStreams) spare.push_back(std::move(kept));
}

void Http2Session::stream_done(Http2Stream& stream) noexcept {
  if (!stream.disposable()) return;
  dispose(stream);
  if (!streams_.empty()) return;
  if (dead_) return host_->remove(*this);
  wake();
}

void Http2Session::wake() noexcept {
  if (dirty_ || dead_) return;
  dirty_ = true;
  fiber_.interrupt();
}

bool Http2Session::respond(Http2Stream& stream, const message::ResponseHead& head, BodyFollows follows) {
  http::Exchange& exchange = stream.exchange();
  const net::TlsFacts* tls = exchange.connection->tls.get();
  const http2::Server::OwnFields own{.date = exchange.arena.copy(host_->date()),
                                     .server = "pontage",
                                     .hsts = tls != nullptr ? tls->hsts : std::string_view{}};
  const bool good = server_.respond(stream, head, own, follows, exchange.arena);
  wake();
  return good;
}

void Http2Session::respond_interim(Http2Stream& stream, const message::ResponseHead& head) {
  server_.respond_interim(stream, head, stream.exchange().arena);
  wake();
}

void Http2Session::resume(Http2Stream& stream) noexcept {
  if (stream.closed() || dead_) return;
  server_.resume(stream);
  wake();
}

void Http2Session::reset(Http2Stream& stream, ErrorCode code) noexcept {
  if (dead_) return;
  server_.reset(stream, code);
  wake();
}

// The stream's own window opens as its body is used; the connection's opens when the whole of what is held is less than
// the cap, at the latest now.
void Http2Session::credit(Http2Stream& stream, std::size_t bytes) noexcept {
  held_ -= bytes;
  if (dead_) return;
  if (!stream.closed()) server_.consumed_stream(stream, bytes);
  wake();
}

bool Http2Session::waits_for_turn(const Http2Stream& stream, std::uint64_t patience_ms) const noexcept {
  if (dead_ || stream.closed()) return false;
  if (blocked_) return true;  // the connection has a deadline of its own
  return server_.window(stream) > 0 && host_->reactor().now_ms() - moved_ms_ < patience_ms;
}

void Http2Session::drain() noexcept {
  begin_drain();
  wake();
}

void Http2Session::begin_drain() noexcept {
  if (drain_ != Drain::no || dead_) return;
  drain_ = Drain::announced;
  drain_until_ = host_->reactor().after(kPongMs);
  server_.announce_end();
  server_.ping();
}

void Http2Session::cancel() noexcept {
  fiber_.cancel();
  for (auto& stream : streams_) stream->cancel();
}

void Http2Session::cancel_older_than(std::uint64_t oldest) noexcept {
  for (auto& stream : streams_) {
    if (stream->generation() < oldest) stream->cancel();
  }
}

// What was agreed at the beginning of the connection cannot be taken back: the client is asked for another one.
void Http2Session::on_new_site() noexcept {
  if (!same(limits_, limits_of(host_->site()->config))) drain();
}

net::Task<void> Http2Session::run() {
  if (!server_.good()) co_return;
  for (;;) {
    const Step input = take_input();
    start_streams();
    dirty_ = false;
    const Step output = give_output();
    settle_end();
    if (input == Step::end || output == Step::end || fiber_.cancelled()) co_return;
    if ((server_.over() || (half_closed_ && streams_.empty())) && output_.empty()) break;
    if (server_.fault() != Fault::none && (output_.empty() || blocked_)) break;
    if (dirty_) continue;
    if (input == Step::again || output == Step::again) {
      net::Yield others_first;
      const auto yielded = co_await others_first;
      if (yielded != WaitResult::ready && fiber_.cancelled()) co_return;
      continue;
    }
    const auto waited = co_await wait();
    if (fiber_.cancelled()) co_return;
    if (waited == WaitResult::timeout && !on_deadline()) co_return;
  }
  end_streams();
  co_await linger();
}

net::Task<net::WaitResult> Http2Session::wait() {
  const net::Deadline until = deadline();
  const bool reading = !half_closed_ && server_.queued() < kMostQueued;
  const bool for_room = blocked_ && output_.blocked_on() == net::IoStatus::want_write;
  if (for_room && reading) {
    const auto both = co_await stream_->readable_or_writable(until, observe::Phase::client);
    co_return both;
  }
  if (for_room) {
    const auto room = co_await stream_->writable(until, observe::Phase::client);
    co_return room;
  }
  if (half_closed_) {
    net::Pause nothing_comes(until, observe::Phase::client);
    const auto news = co_await nothing_comes;
    co_return news;
  }
  const auto bytes = co_await stream_->readable(until, observe::Phase::client);
  co_return bytes;
}

Http2Session::Step Http2Session::take_input() {
  if (!received_.empty()) receive(std::exchange(received_, {}));
  if (half_closed_ || (blocked_ && server_.queued() >= kMostQueued)) return Step::rest;
  net::Chunk chunk;
  for (int reads = 0; reads < kReadsPerTurn; ++reads) {
    if (server_.fault() != Fault::none || !stream_->maybe_readable()) return Step::rest;
    if (!chunk) chunk = host_->reactor().chunks().take();
    if (!chunk) return Step::end;
    const net::IoResult got = stream_->try_read(chunk.span());
    if (got.status == net::IoStatus::done) {
      receive({chunk.data(), got.bytes});
      continue;
    }
    if (got.status == net::IoStatus::end && rules_.half_close == config::Listener::HalfClose::allow &&
        !streams_.empty()) {
      half_closed_ = true;
      return Step::rest;
    }
    return got.status == net::IoStatus::end || got.status == net::IoStatus::error ? Step::end : Step::rest;
  }
  return Step::again;
}

void Http2Session::receive(std::string_view input) {
  net::Reactor& reactor = host_->reactor();
  if (server_.receive({input.data(), input.size()}, reactor.now_ms()) != Fault::none) note_fault();
  end_broken();
  if (spent_ > 0) server_.consumed_connection(std::exchange(spent_, 0));
  if (!server_.in_header_block()) {
    head_until_ = net::kNoDeadline;
  } else if (head_until_ == net::kNoDeadline) {
    head_until_ = reactor.after(ms(host_->site()->config.client.head));
  }
  if (std::exchange(pong_, false) && drain_ == Drain::announced) drain_until_ = reactor.now_ms();
}

void Http2Session::end_broken() noexcept {
  for (Http2Stream* stream : broken_) {
    server_.reset(*stream, ErrorCode::internal_error);
    stream->cancel();
  }
  broken_.clear();
}

void Http2Session::start_streams() {
  for (Http2Stream* stream : begun_) {
    served_ = true;
    stream->start();
  }
  begun_.clear();
  if (owed_ > 0 && held_ <= kHeldStreams * limits_.stream_window) {
    server_.consumed_connection(std::exchange(owed_, 0));
  }
}

Http2Session::Step Http2Session::give_output() {
  std::size_t turn = 0;
  for (;;) {
    const std::size_t before = output_.size();
    const auto flushed = output_.flush();
    if (output_.size() < before) moved_ms_ = host_->reactor().now_ms();
    if (flushed == Http2Output::Flush::blocked && !blocked_) moved_ms_ = host_->reactor().now_ms();
    blocked_ = flushed == Http2Output::Flush::blocked;
    if (flushed == Http2Output::Flush::failed) return Step::end;
    const bool closed = output_.open_turn();
    if (blocked_) return Step::rest;
    if (closed || turn >= kTurnBytes) return Step::again;
    if (!server_.wants_send()) return Step::rest;
    const auto sending = server_.send();
    send_due_trailers();
    if (sending == http2::Server::Sending::failed) return Step::end;
    if (server_.fault() != Fault::none) note_fault();
    if (output_.empty()) return output_.has_room() ? Step::rest : Step::end;
    turn += output_.size();
  }
}

void Http2Session::send_due_trailers() {
  for (Http2Stream* stream : trailing_) {
    const message::HeaderList* trailers = stream->take_trailers();
    if (trailers != nullptr && !server_.send_trailers(*stream, *trailers, stream->exchange().arena)) {
      note_broken(*stream);
    }
  }
  trailing_.clear();
  end_broken();
}

// After the client has answered our PING it has read our first GOAWAY: what it sent since then is not lost by a last
// one.
void Http2Session::settle_end() {
  if (drain_ != Drain::announced || host_->reactor().now_ms() < drain_until_) return;
  drain_ = Drain::last;
  drain_until_ = net::kNoDeadline;
  server_.go_away(ErrorCode::no_error);
  dirty_ = true;
}

net::Deadline Http2Session::deadline() const noexcept {
  net::Deadline until = std::min(head_until_, drain_until_);
  if (blocked_) until = std::min(until, moved_ms_ + ms(host_->site()->config.client.send_idle));
  if (streams_.empty()) until = std::min(until, idle_until_);
  return until;
}

// False: the connection ends at once.
bool Http2Session::on_deadline() noexcept {
  const std::uint64_t now = host_->reactor().now_ms();
  if (blocked_ && now >= moved_ms_ + ms(host_->site()->config.client.send_idle)) return false;
  if (now >= head_until_) {
    host_->metrics().add(host_->series().aborts[static_cast<std::size_t>(util::Source::client)]
                                               [static_cast<std::size_t>(util::ErrorKind::timeout)]);
    server_.terminate(ErrorCode::protocol_error);
    head_until_ = net::kNoDeadline;
  } else if (streams_.empty() && now >= idle_until_) {
    server_.terminate(ErrorCode::no_error);
    idle_until_ = now + kLingerMs;
  }
  return true;
}

void Http2Session::note_fault() noexcept {
  if (std::exchange(fault_told_, true)) return;
  const Fault fault = server_.fault();
  observe::WorkerMetrics& metrics = host_->metrics();
  if (!http2::is_flood(fault)) {
    metrics.add(host_->series().aborts[static_cast<std::size_t>(util::Source::client)]
                                      [static_cast<std::size_t>(util::ErrorKind::protocol)]);
    return;
  }
  metrics.add(host_->series().floods[static_cast<std::size_t>(fault)]);
  observe::log::warn_limited("h2_flood", "{}: a connection of {} is ended", http2::to_string(fault),
                             connection_.peer_ip);
}

// The client may still be sending: a plain close would reset the connection and could destroy the GOAWAY on its way.
net::Task<void> Http2Session::linger() {
  stream_->shutdown_write();
  const net::Deadline until = host_->reactor().after(kLingerMs);
  net::Chunk chunk = host_->reactor().chunks().take();
  while (chunk) {
    const net::IoResult got = stream_->try_read(chunk.span());
    if (got.status != net::IoStatus::done && got.status != net::IoStatus::want_read) co_return;
    WaitResult waited = WaitResult::ready;
    if (got.status == net::IoStatus::done) {
      net::Yield others_first;
      waited = co_await others_first;
    } else {
      waited = co_await stream_->readable(until, observe::Phase::client);
    }
    if (waited == WaitResult::timeout || fiber_.cancelled() || host_->reactor().now_ms() >= until) co_return;
  }
}

}  // namespace pontage::frontend
