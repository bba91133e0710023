// What a path is compared with, in the one canonical spelling that requests have after decoding (DESIGN "One canonical
// path"), and the regular expressions of paths. Made when the configuration is loaded or checked; then immutable, any
// thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <re2/re2.h>

#include "protocols/message/target.h"

namespace pontage::routing {

// A path of the configuration as requests spell it: bytes that are illegal in a target escaped, unreserved ones
// decoded, dot segments resolved. Empty when it has a malformed escape.
std::string canonical_pattern(std::string_view path, message::Slashes slashes);

// Compiles `expression` for paths: bytes, not UTF-8, since paths are ASCII; at most 1 MiB of memory, so that no
// expression can be worse than linear or grow without limit. Never nullptr; ask ok() and error().
std::unique_ptr<const re2::RE2> compile_regex(std::string_view expression);

}  // namespace pontage::routing
