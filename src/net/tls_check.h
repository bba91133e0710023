// The checks of the configuration that need OpenSSL: certificates and keys, authorities, ciphers. Called after
// config::load_* by `check`, at start and at reload; control thread.
#pragma once

#include <vector>

#include "src/config/load.h"

namespace pontage::net {

// Adds what is wrong to `problems` and puts them in file order again. An error means that the configuration must not be
// used; an expired certificate is a warning.
void check_tls(const config::Config& config, std::vector<config::Problem>& problems);

}  // namespace pontage::net
