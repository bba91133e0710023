// A request over AJP with no attribute that a container could refuse, to tell whether a 403 is about one or about the
// secret (ADAPTERS A9, A10). The probe's one thread.
#pragma once

#include <memory>
#include <vector>

#include "src/net/connect.h"
#include "src/probe/question.h"
#include "src/upstream/server.h"

namespace pontage::probe {

// HEAD on a connection of its own; the status. Errors: those of connecting, of reading, and `protocol`.
net::Task<util::Result<int>> ask_plainly(net::Reactor& reactor, net::Address address,
                                         std::shared_ptr<const upstream::ServerSettings> settings,
                                         const Question& question);

}  // namespace pontage::probe
