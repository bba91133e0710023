// From a decoded request to a response, for every kind of session: canonical path, route, limits, rewrite, handler,
// response edits; and what remains at the end: counters, ledger, access log. No session knows routes, no handler knows
// sessions. Worker's thread.
#pragma once

#include <memory>

#include "src/frontend/session_host.h"
#include "src/http/exchange.h"
#include "src/http/response.h"

namespace pontage::frontend {

// The route an exchange took (nullptr: none), with the configuration it belongs to.
struct Routed {
  std::shared_ptr<const routing::Site> site;
  const routing::Route* route = nullptr;
  bool to_https = false;  // the client is sent to https instead
};

// Finds the route. On an error the exchange has no route and gets an error page: 400 for a path that is refused, 404
// without a match, 413 for a declared body over the limit, 421 where the connection belongs to the certificate of
// another host. Without an error it has none either for a client that is to be sent to https.
util::Result<void> find_route(http::Exchange& exchange, Routed& routed);

// Runs the route's handler and applies the response edits. An error has become an error page already; an error that
// comes back means that nobody is left to read one.
net::Task<util::Result<http::Response>> respond(http::Exchange& exchange, const Routed& routed);

// An error page for what went wrong before or in the handler; notes it in the outcome.
http::Response error_response(http::Exchange& exchange, const util::Error& error);

// Notes a failure in the outcome: log reason, metrics of aborts and limits.
void note_error(http::Exchange& exchange, const util::Error& error);

// The exchange is over: ledger, counters, log line.
void report(SessionHost& host, http::Exchange& exchange, const Routed& routed);

}  // namespace pontage::frontend
