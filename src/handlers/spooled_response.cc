#include "src/handlers/spooled_response.h"

#include <memory>
#include <utility>

#include "protocols/wire/ascii.h"

namespace pontage::handlers {
namespace {

class SpooledResponse final : public http::BodySource {
 public:
  SpooledResponse(http::Exchange& exchange, http::BodyPtr source, net::BlockingPool& blocking,
                  const http::SpoolPolicy& policy)
      : spool_(exchange.reactor(), blocking, policy), source_(std::move(source)), trailers_(exchange.arena) {}

  net::Task<util::Result<void>> take(std::uint64_t most) {
    const auto ended = co_await spool_.take(*source_, http::Spool::Until::flush, most);
    if (!ended) co_return util::Failure(ended.error());
    if (!*ended) {
      spool_.follow(*source_);
      co_return util::Result<void>{};
    }
    if (spool_.trailers() != nullptr) {
      for (const auto& h : *spool_.trailers()) trailers_.add(h.name, h.value, h.id);
    }
    source_.reset();
    co_return util::Result<void>{};
  }
  // Of a body without trailers that was taken in to its end.
  bool has_length() const noexcept { return spool_.ended() && trailers_.empty(); }
  std::uint64_t size() const noexcept { return spool_.size(); }

  net::Task<util::Result<void>> pull(http::BodyBatch& batch, std::size_t budget, http::Patience patience) override {
    if (trailers_.empty()) return spool_.pull(batch, budget, patience);
    return pull_with_trailers(batch, budget, patience);
  }
  void drop() noexcept override { delete this; }

 private:
  net::Task<util::Result<void>> pull_with_trailers(http::BodyBatch& batch, std::size_t budget,
                                                   http::Patience patience) {
    const auto pulled = co_await spool_.pull(batch, budget, patience);
    if (pulled && batch.last == http::Last::yes) batch.trailers = &trailers_;
    co_return pulled;
  }

  http::Spool spool_;
  http::BodyPtr source_;
  message::HeaderList trailers_;
};

}  // namespace

bool takes_in(const AnswerBuffering& buffering, const http::Response& response) noexcept {
  if (buffering.how != config::Buffering::on || response.body == nullptr) return false;
  if (response.head.body.kind == message::BodyKind::none) return false;
  const auto type = response.head.headers.value(message::HeaderId::content_type);
  return !wire::iequals(type.substr(0, type.find(';')), "text/event-stream");
}

net::Task<util::Result<http::Response>> take_in(http::Exchange& exchange, http::Response response,
                                                net::BlockingPool& blocking, const http::SpoolPolicy& policy,
                                                std::uint64_t most) {
  auto* spooled = new SpooledResponse(exchange, std::move(response.body), blocking, policy);
  response.body = http::BodyPtr(spooled);
  const auto taken = co_await spooled->take(most);
  if (!taken) co_return util::Failure(taken.error());
  if (spooled->has_length()) response.head.body = {message::BodyKind::exact, spooled->size()};
  co_return response;
}

}  // namespace pontage::handlers
