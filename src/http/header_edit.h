// Applies a route's header edits (config `request_headers`, `response_headers`) to a list. Worker's thread.
#pragma once

#include <vector>

#include "protocols/message/header.h"
#include "src/config/config.h"

namespace pontage::http {

// The edits' texts outlive the exchange (they belong to the configuration). `headers` must be a private copy.
void apply_header_edits(message::HeaderList& headers, const std::vector<config::HeaderEdit>& edits);

}  // namespace pontage::http
