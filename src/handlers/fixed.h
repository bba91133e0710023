// Handlers that answer from the configuration alone: redirect and respond. Shared by all workers, immutable.
#pragma once

#include "src/config/config.h"
#include "src/http/handler.h"

namespace pontage::handlers {

// `location` may hold $path and $query: the canonical path, and "?query" or nothing.
class RedirectHandler final : public http::Handler {
 public:
  explicit RedirectHandler(config::RedirectAction action) : action_(std::move(action)) {}
  net::Task<util::Result<http::Response>> handle(http::Exchange& exchange) override;

 private:
  config::RedirectAction action_;
};

class RespondHandler final : public http::Handler {
 public:
  explicit RespondHandler(config::RespondAction action) : action_(std::move(action)) {}
  net::Task<util::Result<http::Response>> handle(http::Exchange& exchange) override;

 private:
  config::RespondAction action_;
};

}  // namespace pontage::handlers
