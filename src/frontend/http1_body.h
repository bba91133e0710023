// The request body of an HTTP/1 session, decoded from the session's input as it is pulled. Enforces the body limit, the
// idle deadline and the minimum rate; sends "100 Continue" when somebody first asks for the body (ADAPTERS X6).
// Worker's thread.
#pragma once

#include <cstdint>
#include <utility>

#include "protocols/http1/decoder.h"
#include "src/frontend/body_rules.h"
#include "src/frontend/http1_input.h"
#include "src/http/exchange.h"

namespace pontage::frontend {

class Http1Body final : public http::BodySource {
 public:
  // Begins the body that follows the exchange's head; both stay valid until the exchange is over.
  void start(Http1Input& input, http::Exchange& exchange, const wire::HeadLimits& limits) noexcept;
  void set_rules(const BodyRules& rules) noexcept { rules_ = rules; }

  net::Task<util::Result<void>> pull(http::BodyBatch& batch, std::size_t budget, http::Patience patience) override;
  void drop() noexcept override {}

  // Read to its end (or there was none).
  bool done() const noexcept { return decoder_.done(); }
  // The client waits for a 100 that was not sent: it may never send the body.
  bool withheld() const noexcept { return continue_due_ || continue_refused_; }
  // A final response begins: from now on "100 Continue" would stand inside it.
  void refuse_continue() noexcept { continue_refused_ = std::exchange(continue_due_, false); }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  util::Result<void> decode_ready(http::BodyBatch& batch, std::size_t budget);
  net::Task<util::Result<void>> wait_for_more();
  net::Task<util::Result<void>> send_continue();

  Http1Input* input_ = nullptr;
  http::Exchange* exchange_ = nullptr;
  http1::BodyDecoder decoder_;
  BodyRules rules_;
  std::uint64_t bytes_ = 0;
  std::uint64_t waited_ms_ = 0;  // time spent waiting for the client
  bool continue_due_ = false;
  bool continue_refused_ = false;
};

}  // namespace pontage::frontend
