#include "src/handlers/files_path.h"

#include <climits>

namespace pontage::handlers {
namespace {

std::string_view without_parameters(std::string_view path, message::Arena& arena) {
  if (path.find(';') == std::string_view::npos) return path;
  const auto room = arena.chars(path.size());
  std::size_t size = 0;
  bool in_parameters = false;
  for (const char c : path) {
    if (c == '/') in_parameters = false;
    if (c == ';') in_parameters = true;
    if (!in_parameters) room[size++] = c;
  }
  return {room.data(), size};
}

bool is_hidden(std::string_view component, std::size_t index) noexcept {
  if (component.empty()) return true;
  return component.front() == '.' && !(index == 0 && component == ".well-known");
}

bool any_hidden(std::string_view relative) noexcept {
  for (std::size_t index = 0, start = 0;; ++index) {
    const std::size_t slash = relative.find('/', start);
    const std::size_t end = slash == std::string_view::npos ? relative.size() : slash;
    if (is_hidden(relative.substr(start, end - start), index)) return true;
    if (slash == std::string_view::npos) return false;
    start = slash + 1;
  }
}

}  // namespace

FilePath file_path(std::string_view path, message::Arena& arena) {
  std::string_view name = without_parameters(path, arena);
  if (name.find('%') != std::string_view::npos) name = message::percent_decode(name, arena);
  FilePath result;
  if (name.starts_with('/')) name.remove_prefix(1);
  if (name.empty() || name.ends_with('/')) result.end = PathEnd::slash;
  if (name.ends_with('/')) name.remove_suffix(1);
  result.relative = name;
  if (name.find('\0') != std::string_view::npos) {
    result.verdict = PathVerdict::bad;
  } else if (name.size() >= PATH_MAX || (!name.empty() && any_hidden(name))) {
    result.verdict = PathVerdict::hidden;
  }
  return result;
}

std::string_view directory_location(std::string_view client_path, const message::Target& target,
                                    message::Arena& arena) {
  // Browsers read a backslash as a slash, so neither may stand second.
  const std::size_t start = client_path.find_first_not_of("/\\");
  const std::string_view rest = start == std::string_view::npos ? std::string_view{} : client_path.substr(start);
  return arena.join({"/", rest, rest.empty() ? "" : "/", target.has_query ? "?" : "", target.query});
}

}  // namespace pontage::handlers
