// Small responses made by the gateway itself: error pages, redirects, fixed texts. Worker's thread.
#pragma once

#include <string_view>

#include "src/http/exchange.h"
#include "src/http/response.h"

namespace pontage::http {

// A response with `body` (must outlive the exchange, e.g. from its arena or the config) and its Content-Type (may be
// empty when there is no body).
Response make_response(Exchange& exchange, int status, std::string_view content_type, std::string_view body);

}  // namespace pontage::http
