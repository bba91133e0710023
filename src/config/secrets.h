// Keeps secrets out of messages: the source lines that go below them show stars where a secret stands. Called by
// load.cc; pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/config/config.h"

namespace pontage::config {

// `text` with stars for the value of every key whose name speaks of a secret or password (but not of a file that holds
// one), and for all that follows each of `places` on its line and on the deeper lines below. Positions of everything
// else stay the same. Rather too much is hidden than too little; works on text that is no YAML, too.
std::string mask_secrets(std::string_view text, const std::vector<Place>& places);

// True for a key's name that makes its value a secret.
bool names_secret(std::string_view key);

}  // namespace pontage::config
