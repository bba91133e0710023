#include "src/handlers/cgi_script.h"

#include <algorithm>
#include <cerrno>
#include <climits>

#include <fcntl.h>
#include <sys/stat.h>

#include "src/cache/safe_open.h"

namespace pontage::handlers {
namespace {

using Found = wire::Expected<ScriptFile, ScriptRefusal>;

Found refused(ScriptRefusal why) {
  return wire::Unexpected(why);
}

ScriptRefusal refusal_of(int os_error) noexcept {
  const bool there = os_error == EACCES || os_error == EPERM || os_error == ELOOP || os_error == EXDEV;
  return there ? ScriptRefusal::forbidden : ScriptRefusal::missing;
}

// The part of the path that may name files: up to the first component that is empty or begins with a dot, and not
// longer than any name. Without the slash in front.
std::string_view visible_part(std::string_view path) noexcept {
  std::size_t end = 0;
  while (end < path.size()) {
    const std::size_t next = std::min(path.find('/', end + 1), path.size());
    const bool hidden = next == end + 1 || path[end + 1] == '.';
    if (hidden || next >= PATH_MAX) break;
    end = next;
  }
  return end == 0 ? std::string_view{} : path.substr(1, end - 1);
}

class Search {
 public:
  Search(const config::CgiAction& action, std::string_view path, int root)
      : action_(action), path_(path), visible_(visible_part(path)), root_(root) {}

  Found run() {
    struct stat status {};
    const int os_error = look(visible_, status);
    if (os_error == 0) return judge(visible_, status);
    if (os_error != ENOTDIR) return refused(refusal_of(os_error));
    // A file stands on the way: the first one counts, however long the rest.
    for (std::size_t end = visible_.find('/'); end != std::string_view::npos; end = visible_.find('/', end + 1)) {
      const std::string_view name = visible_.substr(0, end);
      if (const int failed = look(name, status); failed != 0) return refused(refusal_of(failed));
      if (!S_ISDIR(status.st_mode)) return judge(name, status);
    }
    return refused(ScriptRefusal::missing);
  }

 private:
  int look(std::string_view name, struct stat& status) const {
    const auto opened = cache::open_below(root_, name, O_PATH, action_.symlinks);
    if (!opened) return opened.error();
    return ::fstat(opened->get(), &status) == 0 ? 0 : errno;
  }

  Found judge(std::string_view name, const struct stat& status) const {
    if (S_ISDIR(status.st_mode)) return folder(name);
    return script(std::string(name), name.size() + 1, status);
  }

  // A folder that ends the path is answered by its index.
  Found folder(std::string_view name) const {
    const std::string_view rest = path_.substr(std::min(path_.size(), name.empty() ? 0 : name.size() + 1));
    if (!rest.empty() && rest != "/") return refused(ScriptRefusal::missing);
    if (action_.index.empty()) return refused(ScriptRefusal::forbidden);
    std::string index = name.empty() ? action_.index : std::string(name) + "/" + action_.index;
    struct stat status {};
    if (const int failed = look(index, status); failed != 0) return refused(refusal_of(failed));
    return script(std::move(index), path_.size(), status);
  }

  Found script(std::string name, std::size_t info_at, const struct stat& status) const {
    if (!S_ISREG(status.st_mode)) return refused(ScriptRefusal::forbidden);
    for (const auto& interpreter : action_.interpreters) {
      if (name.ends_with(interpreter.name)) return ScriptFile{std::move(name), info_at, interpreter.value};
    }
    if ((status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0) return refused(ScriptRefusal::forbidden);
    return ScriptFile{std::move(name), info_at, {}};
  }

  const config::CgiAction& action_;
  std::string_view path_;
  std::string_view visible_;
  int root_;
};

}  // namespace

Found find_script_file(const config::CgiAction& action, std::string_view path) {
  const auto root = cache::open_root(action.root);
  if (!root) return refused(refusal_of(root.error()));
  return Search(action, path, root->get()).run();
}

}  // namespace pontage::handlers
