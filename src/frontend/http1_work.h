// Everything an HTTP/1 session needs while a request is under way and not while it is idle: kept apart so that an idle
// connection stays small, and reused so that a request allocates nothing. Worker's thread.
#pragma once

#include "protocols/http1/decoder.h"
#include "src/frontend/exchange_desk.h"
#include "src/frontend/http1_body.h"
#include "src/http/exchange.h"

namespace pontage::frontend {

struct Http1Work {
  explicit Http1Work(net::Reactor& reactor) noexcept : exchange(reactor), decoder(wire::HeadLimits{}) {}

  http::Exchange exchange;
  http1::RequestDecoder decoder;
  Http1Body body;
  Routed routed;
};

}  // namespace pontage::frontend
