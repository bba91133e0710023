// The checks of routes that need the regular expression library or the canonical path. Called after config::load_* by
// `check`, at start and at reload; control thread.
#pragma once

#include <vector>

#include "src/config/load.h"

namespace pontage::routing {

// Adds what is wrong with expressions, replacements and paths to `problems` and puts them in file order again. An error
// means that the configuration must not be used.
void check(const config::Config& config, std::vector<config::Problem>& problems);

}  // namespace pontage::routing
