// From a name to an entry: opens, reads and compares files. Blocking: a thread of the blocking pool. Holds no state but
// the cache it fills.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/cache/file_cache.h"
#include "src/cache/file_entry.h"
#include "src/cache/open_file.h"
#include "src/cache/watcher.h"
#include "src/util/error.h"

namespace pontage::cache {

// Where what was found is kept, and who sees it change. nullptr: nowhere, nobody.
struct Keeping {
  FileCache* files = nullptr;
  Watcher* watcher = nullptr;
};

struct NameToLoad {
  std::string_view path;  // decoded, relative to the root, without NUL; no component is "..", none is empty
  Presentation shown;     // should it be a file
};

// What is at the name now, read afresh. The root is opened by its path each time. `file` entries up to
// root.memory_body hold their bytes, larger ones a descriptor. What may not be served (special files, links by policy,
// too long names) is `missing`. Errors: overload (out of descriptors or memory), io (the file system failed).
util::Result<EntryRef> load_file(const FileRoot& root, NameToLoad name);

enum class CacheResult : std::uint8_t {
  hit,       // known, and still so
  miss,      // read now, and kept
  uncached,  // read now, and not kept
};
struct Refreshed {
  EntryRef entry;
  CacheResult result = CacheResult::hit;
};

// Brings what is kept up to date about a name: `known` is what was found expired (or nothing). An unchanged file is
// renewed, anything else loaded and inserted. When the look fails for lack of descriptors, what was known is served on.
// Errors as load_file.
util::Result<Refreshed> refresh(const Keeping& keeping, const FileRoot& root, NameToLoad name, const EntryRef& known,
                                std::uint64_t now_ms);

// True when the descriptor's file still has the entry's stamp: one fstat, no waiting. True without a descriptor.
bool same_bytes(const FileEntry& entry) noexcept;

}  // namespace pontage::cache
