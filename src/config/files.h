// The files a configuration names: where they are, and the secrets in them. Called by the key table and by load.cc;
// control thread.
#pragma once

#include <string>
#include <string_view>

#include "src/config/scalars.h"

namespace pontage::config {

// `path`, taken from the folder of `config_file` when it is relative.
std::string resolve_path(std::string_view config_file, std::string_view path);
// A whole regular file of at most `limit` bytes, or why not; the error names the path and the reason, never the
// contents.
Parsed<std::string> read_file(const std::string& path, std::size_t limit);
// The first line of a secret's file; its end of line is no part of it. Errors as above, and when it is empty.
Parsed<std::string> read_secret(const std::string& path);

}  // namespace pontage::config
