// The answer to GET or HEAD of a file that is known: conditions, ranges, head and body (RFC 9110 13, 14). Worker's
// thread.
#pragma once

#include "src/cache/file_entry.h"
#include "src/handlers/files_policy.h"
#include "src/http/exchange.h"
#include "src/http/response.h"

namespace pontage::handlers {

// `entry` is of kind `file`. The response's body keeps it alive; without a body the head is a copy in the arena. Bodies
// in memory come in one piece with their end; larger ones as file ranges (file_body.h).
http::Response file_response(http::Exchange& exchange, cache::EntryRef entry, const FilesPolicy& policy);

// Puts the file in the place of an error's body; status and other fields stay.
void dress_error(http::Exchange& exchange, http::Response& response, cache::EntryRef entry);

// Adds Expires, `after` seconds from the exchange's begin.
void add_expires(http::Exchange& exchange, http::Response& response, std::int64_t after);

}  // namespace pontage::handlers
