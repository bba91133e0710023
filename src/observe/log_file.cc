#include "src/observe/log_file.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace pontage::observe {
namespace {

constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;

int own_descriptor(const std::string& path) noexcept {
  return path == "/dev/stdout" ? 1 : path == "/dev/stderr" ? 2 : -1;
}

util::Failure io_error(std::string_view what, int error) {
  return util::fail(util::ErrorKind::io, util::Source::gateway, what, error);
}

// A pipe is opened anew, since O_NONBLOCK on the shared one would surprise whoever else writes to it. A regular file is
// shared, since two descriptions would overwrite each other's lines.
int open_own(int own) noexcept {
  struct stat about {};
  if (::fstat(own, &about) != 0) return -1;
  if (S_ISFIFO(about.st_mode)) {
    const int fd = ::open(own == 1 ? "/proc/self/fd/1" : "/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) return fd;
  }
  return ::fcntl(own, F_DUPFD_CLOEXEC, 3);
}

}  // namespace

util::Result<LogFile> LogFile::open(std::string path) {
  const int own = own_descriptor(path);
  LogFile file;
  file.path_ = std::move(path);
  file.fd_.reset(own >= 0 ? open_own(own) : ::open(file.path_.c_str(), kFlags, 0640));
  if (!file.fd_) return io_error("opening the access log", errno);
  struct stat about {};
  if (::fstat(file.fd_.get(), &about) != 0) return io_error("opening the access log", errno);
  if (S_ISFIFO(about.st_mode)) {
    file.kind_ = Kind::pipe;
  } else if (S_ISSOCK(about.st_mode)) {
    file.kind_ = Kind::socket;
  } else if (S_ISCHR(about.st_mode)) {
    file.kind_ = Kind::terminal;
  }
  return file;
}

util::Result<void> LogFile::reopen() {
  if (!fd_ || own_descriptor(path_) >= 0) return {};
  auto again = open(path_);
  if (!again) return util::Failure(again.error());
  *this = std::move(*again);
  return {};
}

util::Result<std::size_t> LogFile::write(std::span<iovec> pieces) noexcept {
  if (!fd_) return util::fail(util::ErrorKind::closed, util::Source::gateway, "writing the access log", EBADF);
  pollfd ready{fd_.get(), POLLOUT, 0};
  // A descriptor inherited from somewhere may block; a file is always ready.
  if (kind_ != Kind::file && ::poll(&ready, 1, 0) == 0) return std::size_t{0};
  while (true) {
    ssize_t done = 0;
    if (kind_ == Kind::socket) {
      msghdr message{};
      message.msg_iov = pieces.data();
      message.msg_iovlen = pieces.size();
      done = ::sendmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
      done = ::writev(fd_.get(), pieces.data(), static_cast<int>(pieces.size()));
    }
    if (done >= 0) return static_cast<std::size_t>(done);
    if (errno == EAGAIN) return std::size_t{0};
    if (errno != EINTR) return io_error("writing the access log", errno);
  }
}

}  // namespace pontage::observe
