#include "src/cache/safe_open.h"

#include <array>
#include <cerrno>
#include <climits>
#include <vector>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pontage::cache {
namespace {

constexpr int kMaxLinks = 40;           // as the kernel
constexpr std::size_t kMaxDepth = 128;  // directories held open by one walk
constexpr int kRaceRetries = 8;

wire::Unexpected<int> failed(int os_error) {
  return wire::Unexpected<int>(os_error);
}

OpenedFd checked(long fd) {
  if (fd < 0) return failed(errno);
  return util::UniqueFd(static_cast<int>(fd));
}

OpenedFd open_by_kernel(int root, const char* path, int flags, std::uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<__u64>(flags);
  how.resolve = resolve;
  for (int i = 0;; ++i) {
    OpenedFd opened = checked(::syscall(SYS_openat2, root, path, &how, sizeof how));
    // EAGAIN: something was renamed while ".." was resolved, so the kernel cannot tell; EINTR: a slow file system.
    const bool again = !opened && (opened.error() == EAGAIN || opened.error() == EINTR);
    if (!again || i == kRaceRetries) return opened;
  }
}

// Walks one path. Directories from below the root to here are held open, so that ".." in a link goes back the way it
// came and never higher, even when a directory is moved meanwhile.
class Walk {
 public:
  Walk(int root, std::string_view path, int flags, Symlinks links)
      : root_(root), flags_(flags), links_(links), rest_(path) {}

  OpenedFd run() {
    for (;;) {
      const std::string name = next_name();
      if (name.empty()) return checked(::openat(here(), ".", flags_));
      if (name == ".") continue;
      if (name == "..") {
        if (directories_.empty()) return failed(EXDEV);
        directories_.pop_back();
        continue;
      }
      std::array<char, PATH_MAX> target;
      const ssize_t size = ::readlinkat(here(), name.c_str(), target.data(), target.size());
      int os_error = 0;
      if (size >= 0) {
        os_error = follow({target.data(), static_cast<std::size_t>(size)});
      } else if (errno != EINVAL) {
        os_error = errno;
      } else if (rest_.empty()) {
        return checked(::openat(here(), name.c_str(), flags_ | O_NOFOLLOW));
      } else {
        os_error = descend(name);
      }
      if (os_error != 0) return failed(os_error);
    }
  }

 private:
  int here() const noexcept { return directories_.empty() ? root_ : directories_.back().get(); }

  std::string next_name() {
    const std::size_t start = rest_.find_first_not_of('/');
    if (start == std::string::npos) return {};
    const std::size_t end = rest_.find('/', start);
    std::string name = rest_.substr(start, end == std::string::npos ? end : end - start);
    rest_.erase(0, end);
    return name;
  }

  int follow(std::string_view target) {
    if (links_ == Symlinks::none || ++followed_ > kMaxLinks) return ELOOP;
    if (target.empty()) return ENOENT;
    if (target.front() == '/') return EXDEV;
    if (target.size() + rest_.size() > PATH_MAX) return ENAMETOOLONG;
    rest_.insert(0, target);
    return 0;
  }

  int descend(const std::string& name) {
    if (directories_.size() == kMaxDepth) return ENAMETOOLONG;
    OpenedFd next = checked(::openat(here(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return next.error();
    directories_.push_back(std::move(*next));
    return 0;
  }

  int root_;
  int flags_;
  Symlinks links_;
  std::string rest_;
  std::vector<util::UniqueFd> directories_;
  int followed_ = 0;
};

}  // namespace

OpenedFd open_root(const std::string& root) noexcept {
  return checked(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

OpenedFd open_below(int root, std::string_view path, int flags, Symlinks links, Resolver resolver) {
  flags |= O_CLOEXEC;
  const std::string name(path.empty() ? "." : path);
  // Such a path would leave the root without the help of any link.
  if (name.front() == '/' || name.find('\0') != std::string::npos) return failed(EXDEV);
  if (links == Symlinks::follow) return checked(::openat(root, name.c_str(), flags));
  if (resolver == Resolver::kernel) {
    const std::uint64_t resolve =
        RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (links == Symlinks::none ? RESOLVE_NO_SYMLINKS : 0);
    OpenedFd opened = open_by_kernel(root, name.c_str(), flags, resolve);
    if (opened || (opened.error() != ENOSYS && opened.error() != EPERM)) return opened;
  }
  return Walk(root, name, flags, links).run();
}

}  // namespace pontage::cache
