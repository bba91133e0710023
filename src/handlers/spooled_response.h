// An answer that is taken in before the client gets it: its server is free as soon as it has said all, however slowly
// the client reads, and an answer that breaks off on the way is an error page rather than a cut body. Worker's thread.
#pragma once

#include <cstdint>

#include "src/config/config.h"
#include "src/http/exchange.h"
#include "src/http/response.h"
#include "src/http/spool.h"

namespace pontage::handlers {

struct AnswerBuffering {
  config::Buffering how = config::Buffering::automatic;
  std::uint64_t most = 256 << 20;  // bytes of an answer that are taken in
};

// Whether the answer is taken in before the client gets it (ADAPTERS X22).
bool takes_in(const AnswerBuffering& buffering, const http::Response& response) noexcept;

// Takes from the body of `response` until it ends, its server flushes, or `most` bytes are held; the rest, if any,
// follows as it comes. A body that ended gets a length, and its server's connection is let go. An error while it is
// taken in: nobody has got any of it.
net::Task<util::Result<http::Response>> take_in(http::Exchange& exchange, http::Response response,
                                                net::BlockingPool& blocking, const http::SpoolPolicy& policy,
                                                std::uint64_t most);

}  // namespace pontage::handlers
