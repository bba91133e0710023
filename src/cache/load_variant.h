// Encoded variants of files: what lies beside a file ("a.js.gz" of "a.js"), or what compressing it gives. Both are
// entries of the cache under a name of their own. Blocking: a thread of the blocking pool. Holds no state.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocols/message/arena.h"
#include "protocols/message/content_coding.h"
#include "src/cache/load.h"

namespace pontage::cache {

// The cache's name for the variant: the file's, a NUL, the coding; no file has such a name. Lives in the arena.
std::string_view variant_name(std::string_view path, message::ContentCoding coding, message::Arena& arena);

struct VariantToLoad {
  std::string_view path;  // of the file it encodes
  std::string_view name;  // variant_name
  message::ContentCoding coding = message::ContentCoding::gzip;
  Presentation shown;                                // of the file; the coding is added
  EntryRef of;                                       // the file as it is now
  bool beside = false;                               // look for a file beside it, not older than it
  const config::Compression* compression = nullptr;  // else compress it; nullptr: do not
};

// Brings what is kept up to date about a variant: `known` is what was found expired (or nothing). The
// entry is the variant of now, or of kind `missing` when there is none that is smaller than the file. Either way its
// source() is the stamp of `of`: it serves as long as the file has that. Errors as load_file.
util::Result<Refreshed> refresh_variant(const Keeping& keeping, const FileRoot& root, const VariantToLoad& variant,
                                        const EntryRef& known, std::uint64_t now_ms);

// Whether the variant was made by compressing the file: it needs no look at the disk as long as the file is the same.
bool is_compressed(const FileEntry& variant) noexcept;

}  // namespace pontage::cache
