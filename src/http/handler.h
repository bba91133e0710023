// What a route does with an exchange. One instance per route, shared by all workers and immutable after the config was
// loaded.
#pragma once

#include "src/http/exchange.h"
#include "src/http/response.h"

namespace pontage::http {

class Handler {
 public:
  virtual ~Handler() = default;
  // The response, or why there is none: the session turns an error into an error page. Never touches the client's
  // connection.
  virtual net::Task<util::Result<Response>> handle(Exchange& exchange) = 0;
};

}  // namespace pontage::http
