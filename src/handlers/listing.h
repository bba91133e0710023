// Lists of folders: what a files:-route would serve of a folder, and no more. Reading blocks (a thread of the blocking
// pool); the rest is pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/message/header.h"
#include "src/cache/open_file.h"
#include "src/util/error.h"

namespace pontage::handlers {

struct ListedName {
  std::string name;  // any bytes but '/' and NUL
  bool folder = false;
  std::uint64_t size = 0;             // bytes, of a file
  std::int64_t modified_seconds = 0;  // since 1970
};

struct Listing {
  std::vector<ListedName> names;  // folders first, then by name bytewise
  bool cut = false;               // there are more names than are listed
};

inline constexpr std::size_t kMostListed = 10'000;

// What is in `folder` (decoded, relative to the root, "" for the root itself): files and folders that can be opened
// below the root. Not what begins with a dot, is special, may not be read, or leads out of the root. Errors: closed (no
// such folder, or it may not be read), overload (no descriptors or memory), io.
util::Result<Listing> read_listing(const cache::FileRoot& root, std::string_view folder);

// Whether Accept prefers JSON to HTML.
bool prefers_json(const message::HeaderList& headers) noexcept;

// A page for people; `path` is shown as the title and decides whether there is a way up. Needs no script; its style is
// inline, so send it with `Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'`.
std::string listing_page(const Listing& listing, std::string_view path);
// [{"name": ..., "type": "file" | "directory", "mtime": RFC 3339 in UTC, "size": bytes}, ...]; bytes of a name that are
// no UTF-8 become U+FFFD.
std::string listing_json(const Listing& listing);

}  // namespace pontage::handlers
