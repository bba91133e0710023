#include "src/cache/load.h"

#include <algorithm>
#include <ctime>
#include <optional>

#include <fcntl.h>

namespace pontage::cache {
namespace {

constexpr std::size_t kReadAhead = 1 << 20;
constexpr int kReadAttempts = 2;

EntryRef without_file(const FileRoot& root, NameToLoad name, FileKind kind) {
  FileEntry::Parts parts;
  parts.root = root.id;
  parts.path = name.path;
  parts.kind = kind;
  return FileEntry::make(std::move(parts));
}

FileEntry::Parts file_parts(const FileRoot& root, NameToLoad name, const Stamp& stamp) {
  FileEntry::Parts parts;
  parts.root = root.id;
  parts.path = name.path;
  parts.kind = FileKind::file;
  parts.stamp = stamp;
  parts.shown = name.shown;
  parts.now_seconds = ::time(nullptr);
  return parts;
}

// A small file is read whole and must have the same stamp before and after, so that its bytes are one version's. One
// that changes all the time is sent from its descriptor.
util::Result<EntryRef> load_regular(const FileRoot& root, NameToLoad name, util::UniqueFd fd, Stamp stamp) {
  for (int i = 0; i < kReadAttempts && stamp.size <= root.memory_body; ++i) {
    FileEntry::Parts parts = file_parts(root, name, stamp);
    parts.body = static_cast<std::size_t>(stamp.size);
    EntryRef entry = FileEntry::make(std::move(parts));
    const util::Result<std::optional<Stamp>> after = read_version(fd.get(), entry.get()->body_room());
    if (!after) return util::Failure(after.error());
    if (*after == stamp) return entry;
    if (const auto now = stamp_of(fd.get())) stamp = *now;
  }
  // Here the disk may be waited for; in sendfile a worker would.
  ::readahead(fd.get(), 0, static_cast<std::size_t>(std::min<std::uint64_t>(stamp.size, kReadAhead)));
  FileEntry::Parts parts = file_parts(root, name, stamp);
  parts.file = std::move(fd);
  return FileEntry::make(std::move(parts));
}

bool unchanged(const FileRoot& root, NameToLoad name, const FileEntry& known) {
  if (known.kind() != FileKind::file) return false;
  const OpenedFd directory = open_root(root.directory);
  if (!directory) return false;
  const OpenedFd opened = open_below(directory->get(), name.path, O_PATH, root.links, root.resolver);
  if (!opened) return false;
  const std::optional<Stamp> now = stamp_of(opened->get());
  return now && *now == known.stamp();
}

}  // namespace

util::Result<EntryRef> load_file(const FileRoot& root, NameToLoad name) {
  util::Result<OpenedFile> opened = open_file(root, name.path);
  if (!opened) return util::Failure(opened.error());
  if (opened->kind != FileKind::file) return without_file(root, name, opened->kind);
  return load_regular(root, name, std::move(opened->fd), opened->stamp);
}

util::Result<Refreshed> refresh(const Keeping& keeping, const FileRoot& root, NameToLoad name, const EntryRef& known,
                                std::uint64_t now_ms) {
  FileCache* files = keeping.files;
  if (files != nullptr) {
    // Many may ask for the same name while the pool is busy: the first look serves them all. `known` itself may be
    // within its window, yet its descriptor's bytes have changed.
    EntryRef done = files->current(root.id, name.path, now_ms);
    if (done && done.get() != known.get()) return Refreshed{std::move(done), CacheResult::hit};
  }
  const std::uint64_t epoch = files != nullptr ? files->epoch(root.id) : FileCache::kAnyEpoch;
  if (keeping.watcher != nullptr) keeping.watcher->watch(root, name.path);
  if (files != nullptr && known && unchanged(root, name, *known)) {
    files->renew(*known, now_ms, epoch);
    return Refreshed{known, CacheResult::hit};
  }
  util::Result<EntryRef> loaded = load_file(root, name);
  if (loaded) {
    const bool kept = files != nullptr && files->insert(*loaded, now_ms, epoch);
    return Refreshed{std::move(*loaded), kept ? CacheResult::miss : CacheResult::uncached};
  }
  if (known && loaded.error().kind == util::ErrorKind::overload) return Refreshed{known, CacheResult::hit};
  return util::Failure(loaded.error());
}

bool same_bytes(const FileEntry& entry) noexcept {
  if (entry.in_memory()) return true;
  const std::optional<Stamp> now = stamp_of(entry.descriptor());
  // Not compared: ctime alone, which changes when the name is removed or replaced; the descriptor's bytes are still the
  // entry's.
  return now && now->size == entry.stamp().size && now->modified_ns == entry.stamp().modified_ns;
}

}  // namespace pontage::cache
