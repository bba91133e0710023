// Which file below a route's folder is the script that a path names (ADAPTERS C8). Looks at the disk: a thread of the
// blocking pool. Holds no state.
#pragma once

#include <string>
#include <string_view>

#include "protocols/wire/expected.h"
#include "src/config/config.h"

namespace pontage::handlers {

struct ScriptFile {
  std::string name;         // below the root, without a slash in front
  std::size_t info_at = 0;  // where PATH_INFO begins in the path
  std::string interpreter;  // empty: it is executed itself
};

enum class ScriptRefusal : std::uint8_t {
  missing,   // 404: nothing there, or a name that begins with a dot
  forbidden  // 403: a folder, not executable, not to be reached, or behind a link that is not followed
};

// `path` is decoded and free of NUL and dot segments; empty, or it begins with a slash. The first regular file on its
// way is the script, the rest is PATH_INFO. No name outside the root is ever opened.
wire::Expected<ScriptFile, ScriptRefusal> find_script_file(const config::CgiAction& action, std::string_view path);

}  // namespace pontage::handlers
