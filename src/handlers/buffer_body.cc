#include "src/handlers/buffer_body.h"

namespace pontage::handlers {

namespace {
// A client that needs longer for what is kept in memory is slow: its body is taken in whole.
constexpr std::uint64_t kSlowMs = 250;
}  // namespace

net::Task<util::Result<void>> buffer_body(http::Exchange& exchange, net::BlockingPool& blocking,
                                          const http::SpoolPolicy& policy, config::Buffering buffering) {
  using Until = http::Spool::Until;
  const bool known = exchange.request.body.kind == message::BodyKind::exact;
  exchange.spool = std::make_unique<http::Spool>(exchange.reactor(), blocking, policy);
  http::Spool& spool = *exchange.spool;
  if (known && buffering == config::Buffering::automatic) {
    const std::uint64_t began = exchange.reactor().now_ms();
    const auto taken = co_await spool.take(*exchange.body, Until::memory);
    if (!taken) co_return util::Failure(taken.error());
    const bool fast = exchange.reactor().now_ms() - began < kSlowMs;
    if (!*taken && fast) {
      spool.follow(*exchange.body);
      exchange.body = &spool;
      co_return util::Result<void>{};
    }
  }
  const auto taken = co_await spool.take(*exchange.body, Until::end);
  if (!taken) co_return util::Failure(taken.error());
  exchange.request.body = {message::BodyKind::exact, spool.size()};
  if (spool.size() == 0) exchange.request.body.kind = message::BodyKind::none;
  exchange.body = spool.size() == 0 ? nullptr : &spool;
  co_return util::Result<void>{};
}

}  // namespace pontage::handlers
