// Takes a request body in, as far as the route's buffering wants, before a server or a process is taken (ADAPTERS F12,
// F13, C7): exchange.body becomes what holds it, and exchange.request.body its length. For exchanges with a body and a
// buffering that is not off. Worker's thread.
#pragma once

#include "src/config/config.h"
#include "src/http/exchange.h"
#include "src/http/spool.h"
#include "src/net/blocking_pool.h"

namespace pontage::handlers {

// `blocking` and `policy` outlive the exchange.
net::Task<util::Result<void>> buffer_body(http::Exchange& exchange, net::BlockingPool& blocking,
                                          const http::SpoolPolicy& policy, config::Buffering buffering);

}  // namespace pontage::handlers
