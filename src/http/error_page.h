// From an Error to what the client sees and what the log says: the one place that maps kinds to statuses, log reasons
// and metric labels. Bodies never name a server's address (DESIGN "Metrics and logs"). Worker's thread.
#pragma once

#include <string_view>

#include "src/http/exchange.h"
#include "src/http/response.h"

namespace pontage::http {

// 400-599; 499 when the client is gone and nobody reads an answer.
int status_of(const util::Error& error) noexcept;

// Two letters for the access log: who ended it (C client, S server, G gateway) and how (R bad request, L limit, D gone,
// T timeout, C connect, P protocol, B body cut short, Q queue, N no server, U unsupported, O overload). "--" is a
// normal end.
std::string_view end_reason(const util::Error& error) noexcept;

// application/problem+json when Accept prefers JSON, a small page for browsers, plain text otherwise. Names the limit
// that was hit, never more.
Response make_error_response(Exchange& exchange, int status, std::string_view detail);

}  // namespace pontage::http
