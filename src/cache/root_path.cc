#include "src/cache/root_path.h"

#include <array>
#include <climits>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

namespace pontage::cache {
namespace {

constexpr std::size_t kMostTurns = 64;  // the kernel follows 40 links

std::string joined(const std::string& directory, std::string_view name) {
  return directory + (directory.ends_with('/') ? "" : "/") + std::string(name);
}

// The next component, taken from the front of `rest`; empty at the end.
std::string take_component(std::string& rest) {
  const std::size_t start = rest.find_first_not_of('/');
  if (start == std::string::npos) {
    rest.clear();
    return {};
  }
  const std::size_t end = std::min(rest.find('/', start), rest.size());
  std::string name = rest.substr(start, end - start);
  rest.erase(0, rest.find_first_not_of('/', end));  // npos: everything
  return name;
}

}  // namespace

std::vector<Turn> turns_of(const std::string& path) {
  std::vector<Turn> turns;
  std::string rest = path;
  std::string here = path.starts_with('/') ? "/" : ".";
  while (turns.size() < kMostTurns) {
    const std::string name = take_component(rest);
    if (name.empty()) break;
    if (name == ".") continue;
    const std::string whole = joined(here, name);
    std::array<char, PATH_MAX> target;
    const ssize_t size = name == ".." ? -1 : ::readlink(whole.c_str(), target.data(), target.size());
    if (size > 0) {
      turns.push_back({here, name});
      if (target[0] == '/') here = "/";
      rest = std::string(target.data(), static_cast<std::size_t>(size)) + '/' + rest;
      continue;
    }
    struct stat st {};
    const bool missing = ::lstat(whole.c_str(), &st) != 0;
    if (name != ".." && (missing || rest.empty())) turns.push_back({here, name});
    if (missing) break;
    here = whole;
  }
  return turns;
}

}  // namespace pontage::cache
