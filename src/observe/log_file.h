// Where access lines end up: a file, a named pipe, or the process's own stdout or stderr. Writing never waits for a
// reader or a terminal. Owned by AccessLog; opened on the control thread, written on the log thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <sys/uio.h>

#include "src/util/error.h"
#include "src/util/unique_fd.h"

namespace pontage::observe {

class LogFile {
 public:
  // A closed one: every write fails with `closed`.
  LogFile() noexcept = default;

  // Opens for appending and creates it with mode 0640. `/dev/stdout` and `/dev/stderr` are this process's own.
  // Errors: io with os_error; a named pipe that nobody reads is one (ENXIO).
  static util::Result<LogFile> open(std::string path);
  // Opens the path anew, as after the file was moved away; on error the old file stays open. stdout and stderr stay as
  // they are.
  util::Result<void> reopen();

  // How much of `pieces` was taken: less than all, even 0, when the reader is slow (then wait for POLLOUT). Errors: io
  // with os_error.
  util::Result<std::size_t> write(std::span<iovec> pieces) noexcept;

  int fd() const noexcept { return fd_.get(); }
  const std::string& path() const noexcept { return path_; }

 private:
  enum class Kind : unsigned char { file, pipe, socket, terminal };

  std::string path_;
  util::UniqueFd fd_;
  Kind kind_ = Kind::file;
};

}  // namespace pontage::observe
