#include "src/cache/load.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pontage::cache {
namespace {

constexpr std::size_t kReadAhead = 1 << 20;
constexpr int kReadAttempts = 2;

std::int64_t nanoseconds(const timespec& t) noexcept {
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

Stamp stamp_of(const struct stat& st) noexcept {
  return {.device = st.st_dev,
          .inode = st.st_ino,
          .size = static_cast<std::uint64_t>(std::max<off_t>(st.st_size, 0)),
          .modified_ns = nanoseconds(st.st_mtim),
          .changed_ns = nanoseconds(st.st_ctim)};
}

std::optional<Stamp> stamp_of(int fd) noexcept {
  struct stat st {};
  if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return std::nullopt;
  return stamp_of(st);
}

util::Failure system_failure(int os_error) {
  const bool scarce = os_error == EMFILE || os_error == ENFILE || os_error == ENOMEM || os_error == ENOBUFS;
  return util::fail(scarce ? util::ErrorKind::overload : util::ErrorKind::io, util::Source::gateway, "open file",
                    os_error);
}

// What a failed open says about the name; nullopt: about the system.
std::optional<FileKind> kind_of_failure(int os_error) noexcept {
  switch (os_error) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:  // a circle of links, or a link where none is followed
    case EXDEV:  // leaves the root
    case ENAMETOOLONG:
    case ENXIO:  // a socket, or a device that is not there
    case ENODEV:
    case EINVAL:  // a name that this file system cannot have
    case EILSEQ: return FileKind::missing;
    case EACCES:
    case EPERM: return FileKind::forbidden;
    default: return std::nullopt;
  }
}

EntryRef without_file(const FileRoot& root, NameToLoad name, FileKind kind) {
  FileEntry::Parts parts;
  parts.root = root.id;
  parts.path = name.path;
  parts.kind = kind;
  return FileEntry::make(std::move(parts));
}

// A directory we may not list is a directory all the same: what is in it may be served.
bool is_directory(int root, const FileRoot& spec, std::string_view path) {
  const OpenedFd opened = open_below(root, path, O_PATH, spec.links, spec.resolver);
  struct stat st {};
  return opened && ::fstat(opened->get(), &st) == 0 && S_ISDIR(st.st_mode);
}

// Fills `room` from the file's start; false when the file is shorter. `os_error` is set when the reading failed.
bool read_whole(int fd, std::span<char> room, int& os_error) noexcept {
  std::size_t have = 0;
  while (have < room.size()) {
    const ssize_t got = ::pread(fd, room.data() + have, room.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) os_error = errno;
    if (got <= 0) return false;
    have += static_cast<std::size_t>(got);
  }
  return true;
}

FileEntry::Parts file_parts(const FileRoot& root, NameToLoad name, const Stamp& stamp) {
  FileEntry::Parts parts;
  parts.root = root.id;
  parts.path = name.path;
  parts.kind = FileKind::file;
  parts.stamp = stamp;
  parts.content_type = name.content_type;
  parts.now_seconds = ::time(nullptr);
  return parts;
}

// A small file is read whole and must have the same stamp before and after, so that its bytes are one version's. One
// that changes all the time is sent from its descriptor.
util::Result<EntryRef> load_regular(const FileRoot& root, NameToLoad name, util::UniqueFd fd, Stamp stamp) {
  for (int i = 0; i < kReadAttempts && stamp.size <= kMemoryBody; ++i) {
    FileEntry::Parts parts = file_parts(root, name, stamp);
    parts.body = static_cast<std::size_t>(stamp.size);
    EntryRef entry = FileEntry::make(std::move(parts));
    int os_error = 0;
    const bool whole = read_whole(fd.get(), entry.get()->body_room(), os_error);
    if (os_error != 0) return system_failure(os_error);
    const std::optional<Stamp> after = stamp_of(fd.get());
    if (!after) return system_failure(EIO);
    if (whole && *after == stamp) return entry;
    stamp = *after;
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
  const OpenedFd directory = open_root(root.directory);
  const auto refused = [&](int os_error) -> util::Result<EntryRef> {
    const std::optional<FileKind> kind = kind_of_failure(os_error);
    if (!kind) return system_failure(os_error);
    const bool hidden = *kind == FileKind::forbidden && directory && is_directory(directory->get(), root, name.path);
    return without_file(root, name, hidden ? FileKind::directory : *kind);
  };
  if (!directory) return refused(directory.error());
  // O_NONBLOCK: opening a fifo must not wait for its writer.
  OpenedFd opened =
      open_below(directory->get(), name.path, O_RDONLY | O_NONBLOCK | O_NOCTTY, root.links, root.resolver);
  if (!opened) return refused(opened.error());
  struct stat st {};
  if (::fstat(opened->get(), &st) != 0) return system_failure(errno);
  if (S_ISDIR(st.st_mode)) return without_file(root, name, FileKind::directory);
  if (!S_ISREG(st.st_mode)) return without_file(root, name, FileKind::missing);
  return load_regular(root, name, std::move(*opened), stamp_of(st));
}

util::Result<Refreshed> refresh(FileCache& cache, const FileRoot& root, NameToLoad name, const EntryRef& known,
                                std::uint64_t now_ms) {
  if (known && unchanged(root, name, *known)) {
    cache.renew(*known, now_ms);
    return Refreshed{known, CacheResult::hit};
  }
  util::Result<EntryRef> loaded = load_file(root, name);
  if (loaded) {
    const bool kept = cache.insert(*loaded, now_ms);
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
