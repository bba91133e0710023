#include "src/cache/open_file.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pontage::cache {
namespace {

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

// A directory we may not list is a directory all the same: what is in it may be served.
bool is_directory(int root, const FileRoot& spec, std::string_view path) {
  const OpenedFd opened = open_below(root, path, O_PATH, spec.links, spec.resolver);
  struct stat st {};
  return opened && ::fstat(opened->get(), &st) == 0 && S_ISDIR(st.st_mode);
}

OpenedFile only(FileKind kind) {
  OpenedFile opened;
  opened.kind = kind;
  return opened;
}

}  // namespace

std::optional<Stamp> stamp_of(int fd) noexcept {
  struct stat st {};
  if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return std::nullopt;
  return stamp_of(st);
}

util::Result<OpenedFile> open_file(const FileRoot& root, std::string_view path) {
  const OpenedFd directory = open_root(root.directory);
  const auto refused = [&](int os_error) -> util::Result<OpenedFile> {
    const std::optional<FileKind> kind = kind_of_failure(os_error);
    if (!kind) return system_failure(os_error);
    const bool hidden = *kind == FileKind::forbidden && directory && is_directory(directory->get(), root, path);
    return only(hidden ? FileKind::directory : *kind);
  };
  if (!directory) return refused(directory.error());
  // O_NONBLOCK: opening a fifo must not wait for its writer.
  OpenedFd opened = open_below(directory->get(), path, O_RDONLY | O_NONBLOCK | O_NOCTTY, root.links, root.resolver);
  if (!opened) return refused(opened.error());
  struct stat st {};
  if (::fstat(opened->get(), &st) != 0) return system_failure(errno);
  if (S_ISDIR(st.st_mode)) return only(FileKind::directory);
  if (!S_ISREG(st.st_mode)) return only(FileKind::missing);
  return OpenedFile{FileKind::file, std::move(*opened), stamp_of(st)};
}

util::Result<std::optional<Stamp>> read_version(int fd, std::span<char> room) {
  std::size_t have = 0;
  while (have < room.size()) {
    const ssize_t got = ::pread(fd, room.data() + have, room.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_failure(errno);
    if (got == 0) return std::optional<Stamp>{};
    have += static_cast<std::size_t>(got);
  }
  return stamp_of(fd);
}

}  // namespace pontage::cache
