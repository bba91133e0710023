// From an exchange to the request an AJP server gets. Pure.
#pragma once

#include <string_view>

#include "protocols/ajp13/request_encoder.h"
#include "src/http/exchange.h"

namespace pontage::upstream {

// What the container gets as headers, in the exchange's arena: AJP carries the client's address, scheme and port in
// fields of its own, so X-Forwarded-* are not repeated (USERS "Headers").
message::HeaderList ajp_headers(http::Exchange& exchange);
// Valid as long as all three arguments.
ajp13::ForwardRequest make_ajp_request(const http::Exchange& exchange, const message::HeaderList& headers,
                                       std::string_view secret);

}  // namespace pontage::upstream
