// Which script a path names (ADAPTERS F16, P32): SCRIPT_NAME, PATH_INFO and SCRIPT_FILENAME from the path that is
// forwarded and the backend's mapping. Pure; any thread.
#pragma once

#include <optional>
#include <string_view>

#include "protocols/message/arena.h"
#include "src/config/config.h"

namespace pontage::upstream {

struct ScriptPath {
  std::string_view script_name;
  std::string_view path_info;        // %-decoded; empty: none
  std::string_view script_filename;  // empty: the server is an application, not a tree of scripts
};

// `path` is a canonical path, still %-encoded. nullopt when it holds an encoded CR, LF or NUL (CVE-2019-11043), or when
// an encoded slash hides a "." or ".." segment: 400. The texts are in `arena`, or views of `path` and `mapping`.
std::optional<ScriptPath> find_script(std::string_view path, const config::CgiMapping& mapping, message::Arena& arena);

// The path without its escapes; nullopt as above.
std::optional<std::string_view> decode_script_path(std::string_view path, message::Arena& arena);

}  // namespace pontage::upstream
