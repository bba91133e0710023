// From a request's path to a file's name, and from a directory to where its slash is. Pure; results live in the arena
// or are views of the arguments.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocols/message/arena.h"
#include "protocols/message/target.h"

namespace pontage::handlers {

enum class PathVerdict : std::uint8_t {
  fine,
  hidden,  // must look as if nothing were there: dot-files, "..", an empty component, longer than any name
  bad,     // holds a NUL
};
enum class PathEnd : std::uint8_t { name, slash };

struct FilePath {
  PathVerdict verdict = PathVerdict::fine;
  PathEnd end = PathEnd::name;
  std::string_view relative;  // decoded, without the slashes around it; empty for the root
};

// `path` is canonical (target.h) or came from a rewrite of such a path. Path parameters (";..." of each segment) are no
// part of a file's name; a ';' in a name arrives as %3B. What decoding brings forth is checked, so an allowed %2F
// cannot hide a "..". Only `/.well-known/` may begin with a dot (RFC 8615).
FilePath file_path(std::string_view path, message::Arena& arena);

// The Location of a directory asked for without its slash: the path as the client knows it, a slash, the query. One
// slash in front, so that it never names another host (CASES P16).
std::string_view directory_location(std::string_view client_path, const message::Target& target, message::Arena& arena);

}  // namespace pontage::handlers
