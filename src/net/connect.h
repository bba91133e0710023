// Opens a connection to a server without blocking the worker. Called by upstream adapters on the worker's thread.
#pragma once

#include <memory>

#include "src/net/address.h"
#include "src/net/stream.h"

namespace pontage::net {

// A connected stream with TCP_NODELAY. Errors: refused
// (with the errno), timeout, cancelled, overload (no descriptors, or a backlog that stays full); all of retry class
// not_sent. A full backlog of a unix socket (EAGAIN) is not a refusal: it is tried again until the deadline (ADAPTERS
// F15).
Task<util::Result<std::unique_ptr<ByteStream>>> connect(Reactor& reactor, Address address, Deadline deadline);

}  // namespace pontage::net
