#include "src/frontend/http1_session.h"

#include <algorithm>

#include "protocols/http1/encoder.h"
#include "src/frontend/http1_output.h"
#include "src/frontend/make_session.h"
#include "src/http/error_page.h"
#include "src/http/spool.h"

namespace pontage::frontend {

using config::ms;
using net::WaitResult;
using util::ErrorKind;
using util::Source;

namespace {

constexpr std::uint64_t kLingerMs = 5000;
constexpr std::size_t kSpareWork = 256;

// Three words without a slash name no version of HTTP/1: a preface that is wrong (RFC 9113 3.4), of a client that reads
// no answer of HTTP/1.
bool is_wrong_preface(std::string_view input) noexcept {
  const std::string_view line = input.substr(0, input.find('\n'));
  return line.size() < input.size() && line.find('/') == std::string_view::npos &&
         std::count(line.begin(), line.end(), ' ') == 2;
}

}  // namespace

Http1Session::Http1Session(SessionHost& host, std::unique_ptr<net::ByteStream> stream, http::ConnectionInfo connection,
                           SessionRules rules)
    : host_(&host),
      stream_(std::move(stream)),
      connection_(std::move(connection)),
      fiber_(host.reactor()),
      input_(*stream_),
      rules_(rules) {}

Http1Session::~Http1Session() = default;

void Http1Session::start() {
  net::launch(fiber_, run(), &Http1Session::on_done, this);
}

void Http1Session::on_done(void* self) noexcept {
  auto* session = static_cast<Http1Session*>(self);
  session->end_work();
  SessionHost& host = *session->host_;
  if (session->handed_over_) {
    http::ConnectionInfo connection = session->connection_;
    connection.protocol = kHttp2Name;
    host.begin(make_session(host, std::move(session->stream_), std::move(connection), session->rules_,
                            session->input_.view()));
  }
  host.remove(*session);
}

void Http1Session::drain() noexcept {
  if (!work_) fiber_.cancel();
}

void Http1Session::cancel() noexcept {
  fiber_.cancel();
}

void Http1Session::cancel_older_than(std::uint64_t oldest) noexcept {
  if (work_ && work_->routed.site && work_->routed.site->generation < oldest) cancel();
}

// The client left while its exchange was under way: nobody waits for the rest.
void Http1Session::on_hangup(void* self) noexcept {
  auto* session = static_cast<Http1Session*>(self);
  if (session->rules_.half_close == config::Listener::HalfClose::allow && !session->stream_->peer_reset()) return;
  session->fiber_.cancel();
}

void Http1Session::begin_work() {
  if (!work_) {
    auto& spare = host_->spare_work();
    if (spare.empty()) {
      work_ = std::make_unique<Http1Work>(host_->reactor());
    } else {
      work_ = std::move(spare.back());
      spare.pop_back();
    }
  }
  http::Exchange& exchange = work_->exchange;
  exchange.reset();
  exchange.fiber = &fiber_;
  exchange.connection = &connection_;
  exchange.metrics = &host_->metrics();
  exchange.interim = this;
  exchange.unix_seconds = host_->reactor().unix_seconds();
  work_->routed.site = host_->site();
  work_->routed.route = nullptr;
  work_->decoder = http1::RequestDecoder(work_->routed.site->config.limits);
  exchange.ledger.begin(host_->reactor().turn_cycles());
  fiber_.charge_to(&exchange.ledger);
}

void Http1Session::end_work() noexcept {
  if (!work_) return;
  fiber_.charge_to(nullptr);
  work_->exchange.spool.reset();
  work_->routed = {};
  auto& spare = host_->spare_work();
  if (spare.size() < kSpareWork) spare.push_back(std::move(work_));
  work_.reset();
}

net::Task<void> Http1Session::run() {
  Next next = Next::request;
  while (next == Next::request) {
    if (input_.empty()) {
      // Idle: neither a buffer nor an exchange is held.
      input_.relax();
      end_work();
      if (host_->draining()) break;
      const auto& client = host_->site()->config.client;
      const auto patience = ms(served_ ? client.keep_alive : client.head);
      const auto waited = co_await stream_->readable(host_->reactor().after(patience), observe::Phase::client);
      if (waited != WaitResult::ready) break;
    }
    if (!served_ && rules_.http2 == Http2::on && !connection_.tls) {
      const Next opening = co_await detect();
      if (opening != Next::request) {
        handed_over_ = opening == Next::http2;
        co_return;
      }
    }
    next = co_await serve_one();
  }
  if (next == Next::linger) co_await linger();
}

// Whether the connection begins with HTTP/2's preface (RFC 9113 3.3): what begins otherwise is HTTP/1.
net::Task<Http1Session::Next> Http1Session::detect() {
  static constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  const net::Deadline deadline = host_->reactor().after(ms(host_->site()->config.client.head));
  for (;;) {
    const net::IoResult got = input_.add();
    const std::string_view begin = input_.view().substr(0, kPreface.size());
    if (is_wrong_preface(input_.view())) co_return Next::http2;  // which says what is wrong
    if (!kPreface.starts_with(begin) || begin.empty()) co_return Next::request;
    if (begin.size() == kPreface.size()) co_return Next::http2;
    if (got.status == net::IoStatus::done) continue;
    if (got.status != net::IoStatus::want_read) co_return Next::request;  // HTTP/1 says what is wrong
    const auto waited = co_await stream_->readable(deadline, observe::Phase::client);
    if (waited != WaitResult::ready) co_return Next::close;
  }
}

net::Task<Http1Session::Next> Http1Session::serve_one() {
  begin_work();
  const auto head = co_await read_head();
  if (head && *head == Head::ended) co_return Next::close;  // in good order
  if (head && *head == Head::none_yet) co_return Next::request;
  served_ = true;
  input_.relax();  // nothing followed the head: the buffer serves others while this exchange waits
  const SessionSeries& series = host_->series();
  host_->metrics().gauge_add(series.in_flight, 1);
  stream_->watch_hangup(&Http1Session::on_hangup, this);
  if (stream_->peer_closed()) on_hangup(this);  // it came together with the request
  Next next = Next::close;
  bool out_of_memory = false;
  try {
    if (head) {
      next = co_await handle_request();
    } else {
      next = co_await refuse(head.error());
    }
  } catch (const std::bad_alloc&) {
    out_of_memory = true;
  }
  if (out_of_memory) {
    // The pump uses this session's stream: it ends first.
    if (work_->exchange.pump.active()) co_await work_->exchange.pump.join();
    note_error(work_->exchange, {.kind = ErrorKind::overload, .source = Source::gateway, .detail = "memory"});
    next = Next::close;
  }
  stream_->watch_hangup(nullptr, nullptr);
  host_->metrics().gauge_add(series.in_flight, -1);
  report(*host_, work_->exchange, work_->routed);
  co_return next;
}

// none_yet: it only looked as if there were something to read. An idle session does not wait here, for it would count
// as busy.
net::Task<util::Result<Http1Session::Head>> Http1Session::read_head() {
  if (auto head = arrived_head()) return net::Task<util::Result<Head>>::ready(std::move(*head));
  return await_head();
}

// The head, as far as its bytes are here; nullopt: more must come.
std::optional<util::Result<Http1Session::Head>> Http1Session::arrived_head() {
  Http1Work& work = *work_;
  for (;;) {
    if (!input_.empty()) {
      const auto step = work.decoder.decode(input_.view(), work.exchange.arena, work.exchange.request);
      if (!step) return util::fail_decode(step.error(), Source::client);
      input_.consume(step->consumed);
      if (step->event == http1::HeadEvent::head) return Head::complete;
    }
    const net::IoResult got = input_.fill();
    if (got.status == net::IoStatus::done) continue;
    const bool silent = !work.decoder.in_progress();
    if (got.status == net::IoStatus::end || (got.status == net::IoStatus::error && silent && got.os_error != ENOBUFS)) {
      if (silent) return Head::ended;
      return util::fail(ErrorKind::closed, Source::client, "head cut short");
    }
    if (got.status == net::IoStatus::error) {
      if (got.os_error == ENOBUFS) return util::fail(ErrorKind::overload, Source::gateway, "buffers");
      return util::Failure(net::io_error(got, Source::client, "head"));
    }
    if (silent) return Head::none_yet;
    return std::nullopt;
  }
}

net::Task<util::Result<Http1Session::Head>> Http1Session::await_head() {
  const net::Deadline deadline = host_->reactor().after(ms(work_->routed.site->config.client.head));
  for (;;) {
    input_.relax();
    const auto waited = co_await stream_->readable(deadline, observe::Phase::client);
    if (waited != WaitResult::ready) co_return util::Failure(net::wait_error(waited, Source::client, "head"));
    if (auto head = arrived_head()) co_return std::move(*head);
  }
}

net::Task<Http1Session::Next> Http1Session::handle_request() {
  Http1Work& work = *work_;
  http::Exchange& exchange = work.exchange;
  const config::Config& config = work.routed.site->config;
  work.body.start(input_, exchange, config.limits);
  if (exchange.request.body.kind != message::BodyKind::none) exchange.body = &work.body;
  http::identify_client(exchange, *work.routed.site->forwarding);
  const Next at_best = exchange.request.persistence == message::Persistence::keep_alive ? Next::request : Next::close;

  const auto found = find_route(exchange, work.routed);
  const std::uint64_t limit = work.routed.route != nullptr ? work.routed.route->body_limit : config.limits.body;
  work.body.set_rules({.limit = limit, .idle_ms = ms(config.client.body_idle), .min_rate = config.client.min_rate});
  if (!found) {
    http::Response page = error_response(exchange, found.error());
    const Next next = co_await answer(std::move(page), at_best);
    co_return next;
  }
  auto response = co_await respond(exchange, work.routed);
  if (!response) {
    if (exchange.pump.active()) co_await exchange.pump.join();
    co_return Next::close;
  }
  const Next next = co_await answer(std::move(*response), at_best);
  co_return next;
}

// A head that cannot be served: an answer when somebody may read it, then the end of the connection.
net::Task<Http1Session::Next> Http1Session::refuse(util::Error error) {
  http::Exchange& exchange = work_->exchange;
  exchange.request.headers = {};
  exchange.body = nullptr;
  http::Response response = error_response(exchange, error);
  if (exchange.outcome.status == 499) co_return Next::close;
  const Next next = co_await answer(std::move(response), Next::linger);
  co_return next == Next::close ? Next::close : Next::linger;
}

// Body bytes that are here already count as read; so a small POST to a redirect keeps its connection.
net::Task<void> Http1Session::take_arrived_body() {
  http::BodyBatch batch;
  for (int i = 0; i < 8 && !work_->body.done(); ++i) {
    batch.clear();
    const auto pulled = co_await work_->body.pull(batch, 16 * 1024, http::Patience::none);
    if (!pulled || batch.count == 0) co_return;
  }
}

net::Task<Http1Session::Next> Http1Session::answer(http::Response response, Next at_best) {
  http::Exchange& exchange = work_->exchange;
  Http1Body& body = work_->body;
  // A backend connection may still pull the body while it gives the response's.
  const bool nobody_wants_it = response.body == nullptr || exchange.outcome.attempts == 0;
  if (exchange.body != nullptr && nobody_wants_it && !exchange.pump.active() && !body.done() && !body.withheld()) {
    co_await take_arrived_body();
  }
  const bool body_pending = exchange.body != nullptr && !body.done();
  const bool ends =
      at_best != Next::request || host_->draining() || body.withheld() || (body_pending && response.head.status >= 400);
  body.refuse_continue();
  Http1Output output(*stream_, *host_, exchange, body, ms(work_->routed.site->config.client.send_idle));
  const Connection keep = ends ? Connection::close : Connection::keep;
  auto sent = co_await output.send(response, keep);
  response.body.reset();
  if (exchange.pump.active()) co_await exchange.pump.join();
  if (!sent && !output.started() && sent.error().source != Source::client && !fiber_.cancelled()) {
    // The body failed before a byte of the head was out: there is still room for a proper answer.
    http::Response page = error_response(exchange, sent.error());
    sent = co_await output.send(page, Connection::close);
    if (sent) sent = Connection::close;
  } else if (!sent) {
    note_error(exchange, sent.error());
    if (output.ends_by_close()) stream_->abort_on_close();
    co_return Next::close;
  }
  if (!sent) co_return Next::close;
  if (*sent == Connection::keep && (exchange.body == nullptr || body.done())) co_return Next::request;
  const bool unread = !input_.empty() || stream_->maybe_readable() || (exchange.body != nullptr && !body.done());
  co_return unread || at_best == Next::linger ? Next::linger : Next::close;
}

// The client may still be sending: a plain close would reset the connection and could destroy the answer on its way
// (RFC 9112 9.6).
net::Task<void> Http1Session::linger() {
  stream_->shutdown_write();
  const net::Deadline deadline = host_->reactor().after(kLingerMs);
  for (;;) {
    input_.consume(input_.view().size());
    const net::IoResult got = input_.fill();
    if (got.status == net::IoStatus::done) {
      if (host_->reactor().now_ms() >= deadline) co_return;
      net::Yield others_first;
      const auto yielded = co_await others_first;
      if (yielded != WaitResult::ready) co_return;
      continue;
    }
    if (got.status != net::IoStatus::want_read) co_return;
    input_.relax();
    const auto waited = co_await stream_->readable(deadline, observe::Phase::client);
    if (waited != WaitResult::ready) co_return;
  }
}

net::Task<util::Result<void>> Http1Session::send_interim(const message::ResponseHead& head) {
  http::Exchange& exchange = work_->exchange;
  if (exchange.request.version == message::kHttp10) co_return util::Result<void>{};
  net::Chunk chunk = host_->reactor().chunks().take();
  if (!chunk) co_return util::Result<void>{};
  wire::Sink sink(chunk.span());
  http1::encode_status_line(sink, message::kHttp11, head.status);
  for (const auto& h : head.headers) {
    if (!message::is_hop_by_hop(h.id) && h.id != message::HeaderId::content_length)
      http1::encode_field(sink, h.name, h.value);
  }
  http1::encode_end_of_head(sink);
  if (sink.overflowed()) co_return util::Result<void>{};  // hints beyond reason are dropped
  iovec piece{chunk.data(), sink.size()};
  const auto idle = ms(work_->routed.site->config.client.send_idle);
  const auto sent =
      co_await net::write_all(*stream_, {&piece, 1}, net::More::no, idle, observe::Phase::client, Source::client);
  if (sent) exchange.outcome.bytes_out += sink.size();
  co_return sent;
}

}  // namespace pontage::frontend
