// What only shows when the whole configuration is known: names that refer to nothing, things doubled, unused or risky.
// Called by load.cc after reading; looks at the file system for roots and programs only; control thread. Regular
// expressions are checked in src/routing/check.
#pragma once

#include "src/config/problems.h"

namespace pontage::config {

void check_listeners(const Config& config, const Places& places, Problems& problems);
void check_tls_keys(const Config& config, const Places& places, Problems& problems);
void check_backends(const Config& config, const Places& places, Problems& problems);
void check_routes(const Config& config, const Places& places, Problems& problems);

// The place of a value, or of the nearest thing around it that has one.
Place place_in(const Places& places, std::string path);

// True when `earlier` matches every request that `later` does, as far as can be said without looking into regular
// expressions.
bool covers(const Match& earlier, const Match& later);

}  // namespace pontage::config
