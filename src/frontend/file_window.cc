#include "src/frontend/file_window.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "src/util/unique_fd.h"

namespace pontage::frontend {

using util::ErrorKind;
using util::Source;

namespace {

constexpr std::uint64_t kDiskTimeoutMs = 30'000;

struct Filled {
  std::unique_ptr<char[]> bytes;
  ssize_t got = 0;
  int os_error = 0;
};

// Owns a copy of the descriptor: the body that lent it may be gone before its turn comes.
struct ReadJob {
  util::UniqueFd file;
  std::uint64_t offset;
  std::size_t count;
  Filled operator()() {
    Filled filled{.bytes = std::make_unique_for_overwrite<char[]>(count)};
    filled.got = ::pread(file.get(), filled.bytes.get(), count, static_cast<off_t>(offset));
    filled.os_error = filled.got < 0 ? errno : 0;
    return filled;
  }
};

}  // namespace

void FileWindow::clear() noexcept {
  for (auto& chunk : chunks_) chunk.reset();
  cold_.reset();
  part_count_ = 0;
  want_ = 1;
}

util::Result<std::size_t> FileWindow::take(std::int64_t got, int os_error) {
  if (got == 0) return util::fail(ErrorKind::closed, Source::gateway, "file was truncated");
  if (got < 0) {
    return util::Failure(
        util::Error{.kind = ErrorKind::io, .source = Source::gateway, .os_error = os_error, .detail = "file"});
  }
  want_ = std::min(want_ * 2, kChunks);
  return static_cast<std::size_t>(got);
}

FileWindow::Read FileWindow::read(int file, std::uint64_t offset, std::uint64_t count) {
  std::array<iovec, kChunks> rooms;
  std::size_t used = 0;
  std::size_t ask = 0;
  part_count_ = 0;
  while (used < want_ && ask < count) {
    net::Chunk& chunk = chunks_[used];
    if (!chunk) chunk = reactor_->chunks().take();
    if (!chunk) break;
    const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(net::ChunkPool::kChunk, count - ask));
    rooms[used++] = {chunk.data(), room};
    ask += room;
  }
  if (used == 0) return Read::ready(util::fail(ErrorKind::overload, Source::gateway, "buffers"));
  const auto at = static_cast<off_t>(offset);
  ssize_t got = ::preadv2(file, rooms.data(), static_cast<int>(used), at, disk_ != nullptr ? RWF_NOWAIT : 0);
  if (got < 0 && errno == EAGAIN) return read_on_pool(file, offset, ask);
  // Where the flag is unknown, the file lies in memory.
  if (got < 0 && errno == EOPNOTSUPP) got = ::preadv(file, rooms.data(), static_cast<int>(used), at);
  auto taken = take(got, errno);
  auto left = taken ? *taken : std::size_t{0};
  for (std::size_t i = 0; i < used && left > 0; ++i) {
    const std::size_t here = std::min(left, rooms[i].iov_len);
    parts_[part_count_++] = {chunks_[i].data(), here};
    left -= here;
  }
  return Read::ready(std::move(taken));
}

FileWindow::Read FileWindow::read_on_pool(int file, std::uint64_t offset, std::size_t count) {
  ReadJob job{util::UniqueFd(::fcntl(file, F_DUPFD_CLOEXEC, 0)), offset, count};
  auto call = net::run_blocking(*disk_, *reactor_, reactor_->after(kDiskTimeoutMs), std::move(job));
  util::Result<Filled> done = co_await call;
  if (!done) co_return util::Failure(done.error());
  auto taken = take(done->got, done->os_error);
  if (taken) {
    cold_ = std::move(done->bytes);
    parts_[0] = {cold_.get(), *taken};
    part_count_ = 1;
  }
  co_return std::move(taken);
}

}  // namespace pontage::frontend
