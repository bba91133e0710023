#include "src/upstream/script_path.h"

#include <algorithm>

#include "protocols/wire/ascii.h"

namespace pontage::upstream {
namespace {

using config::CgiMapping;
using message::Arena;

bool has_dot_segment(std::string_view path) noexcept {
  for (auto at = path.find("/."); at != std::string_view::npos; at = path.find("/.", at + 1)) {
    auto rest = path.substr(at + 2);
    if (rest.starts_with('.')) rest.remove_prefix(1);
    if (rest.empty() || rest.front() == '/') return true;
  }
  return false;
}

// Where the script's name ends: behind the first extension that a slash or the path's end follows. The bytes are
// compared as they are; letters that change their length when lowered moved this border elsewhere (CVE-2026-27590).
std::size_t script_end(std::string_view path, const CgiMapping& mapping) noexcept {
  std::size_t best = std::string_view::npos;
  for (const auto& extension : mapping.extensions) {
    for (auto at = path.find(extension); at != std::string_view::npos; at = path.find(extension, at + 1)) {
      const std::size_t end = at + extension.size();
      const bool named = at > 0 && path[at - 1] != '/';
      if (named && (end == path.size() || path[end] == '/')) {
        best = std::min(best, end);
        break;
      }
    }
  }
  return best;
}

// An application gets one slash at the front, however many there were (ADAPTERS U2).
std::string_view collapsed(std::string_view path) noexcept {
  while (path.starts_with("//")) path.remove_prefix(1);
  return path;
}

ScriptPath application(std::string_view path, const CgiMapping& mapping) {
  const std::string_view mount = mapping.script_name;
  const bool below =
      !mount.empty() && path.starts_with(mount) && (path.size() == mount.size() || path[mount.size()] == '/');
  if (!below) return {.script_name = {}, .path_info = collapsed(path), .script_filename = {}};
  return {.script_name = mount, .path_info = collapsed(path.substr(mount.size())), .script_filename = {}};
}

ScriptPath one_script(std::string_view path, const CgiMapping& mapping, Arena& arena) {
  if (mapping.script.starts_with('/')) {
    ScriptPath out = application(path, mapping);
    out.script_name = mapping.script_name;  // also when a rewrite has taken it off the path
    out.script_filename = mapping.script;
    return out;
  }
  ScriptPath out;
  out.script_name = arena.join({"/", mapping.script});
  out.path_info = collapsed(path);
  out.script_filename = arena.join({mapping.document_root, out.script_name});
  return out;
}

ScriptPath by_extension(std::string_view path, const CgiMapping& mapping, Arena& arena) {
  ScriptPath out;
  const std::size_t end = script_end(path, mapping);
  if (end != std::string_view::npos) {
    out.script_name = path.substr(0, end);
    out.path_info = path.substr(end);
  } else if (path.ends_with('/')) {
    out.script_name = arena.join({path, mapping.index});
  } else {
    out.script_name = arena.join({"/", mapping.index});
  }
  out.script_filename = arena.join({mapping.document_root, out.script_name});
  return out;
}

}  // namespace

// The bytes that the escapes stand for; nullopt for a CR, LF or NUL. A canonical path has no malformed escape, and no
// dot segment but one that an escaped slash hid: refused too, for it would leave the document root, or the route.
std::optional<std::string_view> decode_script_path(std::string_view path, Arena& arena) {
  if (path.find('%') == std::string_view::npos) return path;
  const auto room = arena.chars(path.size());
  std::size_t to = 0;
  bool hidden_slash = false;
  for (std::size_t i = 0; i < path.size(); ++i) {
    char c = path[i];
    if (c == '%' && i + 2 < path.size()) {
      c = static_cast<char>(wire::hex_value(path[i + 1]) * 16 + wire::hex_value(path[i + 2]));
      i += 2;
      if (c == '\r' || c == '\n' || c == '\0') return std::nullopt;
      hidden_slash |= c == '/';
    }
    room[to++] = c;
  }
  const std::string_view decoded(room.data(), to);
  if (hidden_slash && has_dot_segment(decoded)) return std::nullopt;
  return decoded;
}

std::optional<ScriptPath> find_script(std::string_view path, const CgiMapping& mapping, Arena& arena) {
  const auto decoded = decode_script_path(path, arena);
  if (!decoded) return std::nullopt;
  if (!mapping.script.empty()) return one_script(*decoded, mapping, arena);
  if (mapping.document_root.empty()) return application(*decoded, mapping);
  return by_extension(*decoded, mapping, arena);
}

}  // namespace pontage::upstream
