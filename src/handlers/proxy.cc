#include "src/handlers/proxy.h"

#include "src/handlers/buffer_body.h"
#include "src/http/header_edit.h"
#include "src/observe/log.h"
#include "src/upstream/cgi_request.h"
#include "src/upstream/replay.h"

namespace pontage::handlers {

using upstream::Lease;
using util::ErrorKind;
using util::RetryClass;
using util::Source;

ProxyHandler::ProxyHandler(std::shared_ptr<const upstream::Backend> backend,
                           std::shared_ptr<const http::ForwardingPolicy> policy, net::BlockingPool& blocking,
                           ProxyOptions options)
    : backend_(std::move(backend)), policy_(std::move(policy)), blocking_(&blocking), options_(std::move(options)) {}

void ProxyHandler::prepare(http::Exchange& exchange) const {
  http::make_forward_headers(exchange, *policy_);
  if (!options_.request_headers.empty()) http::apply_header_edits(exchange.forward_headers, options_.request_headers);
  backend_->note_request(exchange.reactor().id());
}

util::Result<void> ProxyHandler::make_variables(http::Exchange& exchange) const {
  if (!backend_->speaks_cgi()) return {};
  const auto variables = upstream::make_cgi_variables(exchange, backend_->config().cgi);
  if (!variables) return util::Failure(variables.error());
  exchange.variables = *variables;
  return {};
}

// Which of the three classes of ADAPTERS X12 a failure is, and what follows from it.
ProxyHandler::Verdict ProxyHandler::judge(const http::Exchange& exchange, const util::Error& error, bool replayable,
                                          Used used) const noexcept {
  if (exchange.fiber->cancelled() || error.source == Source::client || error.kind == ErrorKind::cancelled)
    return Verdict::give_up;
  switch (error.retry) {
    case RetryClass::none: return Verdict::give_up;
    case RetryClass::not_sent:
      if (!replayable) return Verdict::give_up;
      // A pooled connection that took nothing was stale; its server may be well.
      return used == Used::pooled ? Verdict::fresh_connection : Verdict::other_server;
    case RetryClass::reused_closed:
      if (used != Used::pooled || !replayable) return Verdict::give_up;
      return message::is_idempotent(exchange.request.method) || options_.retry_non_idempotent
                 ? Verdict::fresh_connection
                 : Verdict::give_up;
  }
  return Verdict::give_up;
}

net::Task<util::Result<http::Response>> ProxyHandler::handle(http::Exchange& exchange) {
  if (exchange.request.method == message::Method::connect) {
    co_return util::fail(ErrorKind::unsupported, Source::gateway, "CONNECT is not served");
  }
  prepare(exchange);
  exchange.gather = options_.answers.how != config::Buffering::off;
  // Before the body is taken in: a request that is refused anyway need not send it.
  auto ready = make_variables(exchange);
  if (!ready) co_return util::Failure(ready.error());
  if (exchange.body != nullptr && options_.buffering != config::Buffering::off) {
    const bool had_length = exchange.request.body.kind == message::BodyKind::exact;
    ready = co_await buffer_body(exchange, *blocking_, options_.spool, options_.buffering);
    if (ready && !had_length) ready = make_variables(exchange);
    if (!ready) co_return util::Failure(ready.error());
  }
  const bool no_length = exchange.body != nullptr && exchange.request.body.kind != message::BodyKind::exact;
  if (no_length && backend_->speaks_cgi()) {
    co_return util::fail(ErrorKind::length_required, Source::client, "request_buffering is off");
  }
  upstream::ReplayBody* replay = nullptr;
  if (exchange.body != nullptr && !exchange.spool) {
    replay = new (exchange.arena.allocate(sizeof(upstream::ReplayBody)))
        upstream::ReplayBody(*exchange.body, exchange.arena);
    exchange.body = replay;
  }
  upstream::Backend::Choice choice(*backend_, exchange);
  const std::shared_ptr<upstream::BackendServer>* server = choice.next();
  if (server == nullptr) co_return util::fail(ErrorKind::no_server, Source::gateway, "no server");
  bool fresh = false;
  for (;;) {
    upstream::BackendServer& target = **server;
    ++exchange.outcome.attempts;
    exchange.outcome.server = target.name();
    exchange.outcome.adapter = target.adapter_name();
    // What cannot be sent is refused before a connection is taken (ADAPTERS E6).
    const auto fits = target.check_fit(exchange);
    if (!fits) co_return util::Failure(fits.error());
    target.count_pick(exchange);
    Used used = Used::none;
    const auto kind = fresh ? upstream::LeaseKind::fresh : upstream::LeaseKind::any;
    auto leased = co_await target.lease(exchange, kind);
    util::Error error;
    if (leased) {
      Lease lease = std::move(*leased);
      used = lease->uses() > 0 ? Used::pooled : Used::fresh;
      auto answered = co_await lease->round_trip(exchange);
      if (answered) {
        lease.release();
        if (!takes_in(options_.answers, *answered)) co_return std::move(*answered);
        auto taken = take_in(exchange, std::move(*answered), *blocking_, options_.spool, options_.answers.most);
        auto whole = co_await std::move(taken);
        co_return whole;
      }
      error = answered.error();
      if (exchange.pump.active()) co_await exchange.pump.join();
    } else {
      error = leased.error();
    }
    target.count_failure(exchange, error);
    const bool replayable = exchange.spool ? exchange.spool->rewindable() : replay == nullptr || replay->rewindable();
    const Verdict verdict = judge(exchange, error, replayable, used);
    const bool attempts_left = exchange.outcome.attempts < backend_->config().retry.attempts;
    const auto* next = verdict == Verdict::other_server ? choice.next() : server;
    // A server whose queue is full or whose connect failed has done no work: trying the next one needs no budget.
    const bool free_of_charge = error.retry == RetryClass::not_sent;
    if (verdict == Verdict::give_up || next == nullptr || (!attempts_left && !free_of_charge) ||
        (!free_of_charge && !backend_->may_retry(exchange.reactor().id()))) {
      co_return util::Failure(error);
    }
    target.count_retry(exchange, error);
    if (replay != nullptr) replay->rewind();
    if (exchange.spool) exchange.spool->rewind();
    exchange.pump.reset();
    fresh = verdict == Verdict::fresh_connection;
    server = next;
  }
}

}  // namespace pontage::handlers
