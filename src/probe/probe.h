// The pairing doctor, `pontage check --probe`: examines every server of every backend at the same time and reports one
// line each, in the style of config::render, sorted by backend. Called by the command line with a configuration that
// was found good; blocks the calling thread, which it uses for all of them.
#pragma once

#include <iosfwd>

#include "src/config/config.h"
#include "src/probe/examination.h"

namespace pontage::probe {

enum class Verdict : std::uint8_t { fine, warned, failed };

// Servers that are well go to `fine`, what is wrong with others to `wrong`. The worst of all servers. Throws
// std::system_error when the system gives no thread or descriptor.
Verdict probe(const config::Config& config, const Options& options, std::ostream& fine, std::ostream& wrong);

}  // namespace pontage::probe
