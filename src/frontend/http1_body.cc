#include "src/frontend/http1_body.h"

#include <algorithm>

namespace pontage::frontend {

using http::BodyBatch;
using util::ErrorKind;
using util::Source;

void Http1Body::start(Http1Input& input, http::Exchange& exchange, const wire::HeadLimits& limits) noexcept {
  input_ = &input;
  exchange_ = &exchange;
  decoder_.start(exchange.request.body, limits, exchange.arena);
  bytes_ = waited_ms_ = 0;
  continue_refused_ = false;
  continue_due_ = exchange.request.expect_continue && exchange.request.body.kind != message::BodyKind::none;
}

util::Result<void> Http1Body::decode_ready(BodyBatch& batch, std::size_t budget) {
  std::size_t taken = 0;
  while (!batch.full() && taken < budget) {
    const auto step = decoder_.decode(input_->view().substr(0, budget - taken));
    if (!step) return util::fail_decode(step.error(), Source::client);
    input_->consume(step->consumed);
    if (step->event == http1::BodyEvent::end) {
      batch.last = http::Last::yes;
      return {};
    }
    if (step->event == http1::BodyEvent::need_more) {
      if (input_->empty()) return {};
      continue;
    }
    batch.add(step->data);
    taken += step->data.size();
    bytes_ += step->data.size();
    if (bytes_ > rules_.limit) return util::fail(ErrorKind::too_large, Source::client, "body");
  }
  if (decoder_.done()) batch.last = http::Last::yes;
  return {};
}

net::Task<util::Result<void>> Http1Body::pull(BodyBatch& batch, std::size_t budget, http::Patience patience) {
  for (;;) {
    const auto decoded = decode_ready(batch, budget);
    if (!decoded) co_return util::Failure(decoded.error());
    if (batch.count > 0 || batch.last == http::Last::yes) break;
    if (continue_due_) {
      const auto told = co_await send_continue();
      if (!told) co_return util::Failure(told.error());
    }
    net::IoResult got{.status = net::IoStatus::want_read};
    if (input_->empty()) got = input_->fill();
    if (got.status == net::IoStatus::done) {
      continue_due_ = continue_refused_ = false;  // it did not wait for our word
      continue;
    }
    if (got.status == net::IoStatus::end) co_return util::fail(ErrorKind::closed, Source::client, "body cut short");
    if (got.status == net::IoStatus::error) co_return util::Failure(net::io_error(got, Source::client, "body"));
    if (patience == http::Patience::none) break;
    const auto waited = co_await wait_for_more();
    if (!waited) co_return util::Failure(waited.error());
  }
  exchange_->outcome.bytes_in = bytes_;
  co_return util::Result<void>{};
}

net::Task<util::Result<void>> Http1Body::wait_for_more() {
  net::Reactor& reactor = exchange_->reactor();
  input_->relax();
  const BodyPatience patience = body_patience(rules_, bytes_, waited_ms_);
  const std::uint64_t before = reactor.now_ms();
  const auto waited = co_await input_->stream().readable(reactor.after(patience.ms), observe::Phase::client);
  waited_ms_ += reactor.now_ms() - before;
  if (waited == net::WaitResult::ready) co_return util::Result<void>{};
  co_return util::Failure(body_wait_error(waited, patience));
}

net::Task<util::Result<void>> Http1Body::send_continue() {
  continue_due_ = false;
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  iovec piece{const_cast<char*>(kContinue.data()), kContinue.size()};
  const auto sent = co_await net::write_all(input_->stream(), {&piece, 1}, net::More::no, rules_.idle_ms,
                                            observe::Phase::client, Source::client);
  if (sent) exchange_->outcome.bytes_out += kContinue.size();
  co_return sent;
}

}  // namespace pontage::frontend
