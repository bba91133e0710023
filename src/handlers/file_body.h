// The bytes of a cached file as a body. Worker's thread.
#pragma once

#include <cstdint>

#include "src/cache/file_entry.h"
#include "src/http/exchange.h"

namespace pontage::handlers {

// `count` bytes of the entry from `first` on; made in the exchange's arena, holds the entry until it is dropped. Bytes
// in memory come as pieces of memory within the budget, a few kilobytes of a descriptor are read here (which waits for
// a disk where the page is not in memory, as sendfile would); otherwise a descriptor gives file ranges of any length,
// because they cost no memory: who sends them takes turns by itself. A file that changes while a long range of it is
// sent ends in an error, so that the connection is closed before the client could take a mixture for the whole.
http::BodyPtr make_file_body(http::Exchange& exchange, cache::EntryRef entry, std::uint64_t first, std::uint64_t count);

}  // namespace pontage::handlers
