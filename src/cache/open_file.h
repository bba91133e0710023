// Opens and reads regular files below a root. Blocking: a thread of the blocking pool. Holds no state.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/cache/file_entry.h"
#include "src/cache/safe_open.h"
#include "src/util/error.h"

namespace pontage::cache {

// A directory that a files:-route serves, and how its files are kept. Immutable; shared by the handler and the look-ups
// under way.
struct FileRoot {
  std::uint32_t id = 0;  // distinct for every files:-route that shares one cache
  std::string directory;
  Symlinks links = Symlinks::beneath;
  Resolver resolver = Resolver::kernel;
  std::uint64_t memory_body = kMemoryBody;  // bytes; larger bodies are kept as a descriptor
};

struct OpenedFile {
  FileKind kind = FileKind::missing;
  util::UniqueFd fd;  // of a file
  Stamp stamp;        // of a file
};

// What is at `path` now. The root is opened by its path each time. What may not be served (special files, links by
// policy, too long names) is `missing`. Errors: overload (out of descriptors or memory), io (the file system failed).
util::Result<OpenedFile> open_file(const FileRoot& root, std::string_view path);

// nullopt: no regular file, or not to be told.
std::optional<Stamp> stamp_of(int fd) noexcept;

// Fills `room` from the file's start and gives the file's stamp afterwards: when it is the one from before, the bytes
// are one version's. nullopt when the file is shorter than `room`. Error: io.
util::Result<std::optional<Stamp>> read_version(int fd, std::span<char> room);

}  // namespace pontage::cache
