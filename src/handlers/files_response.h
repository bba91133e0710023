// The answer to GET or HEAD of a file that is known: conditions, ranges, head and body (RFC 9110 13, 14). Worker's
// thread.
#pragma once

#include "src/cache/file_entry.h"
#include "src/http/exchange.h"
#include "src/http/response.h"

namespace pontage::handlers {

// `entry` is of kind `file`. The response's body keeps it alive; without a body the head is a copy in the arena. Bodies
// in memory come in one piece with their end; larger ones as file ranges. A file that changes while a long range of it
// is sent ends in an error, so the connection is closed before the client could take a mixture for the whole.
http::Response file_response(http::Exchange& exchange, cache::EntryRef entry);

}  // namespace pontage::handlers
