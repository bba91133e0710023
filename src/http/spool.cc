#include "src/http/spool.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "src/net/stream.h"
#include "src/util/unique_fd.h"

namespace pontage::http {

using util::ErrorKind;
using util::Source;

namespace {

constexpr std::uint64_t kDiskTimeoutMs = 30'000;
constexpr std::uint64_t kTurnBytes = 512 * 1024;  // then other fibers have their turn

util::Failure file_failure(int error) {
  return util::fail(ErrorKind::io, Source::gateway, "spool file", error);
}

}  // namespace

namespace detail {

// At most one job works on it at a time, and its spool looks at it only between jobs.
struct SpoolFile {
  explicit SpoolFile(std::string in) : folder(std::move(in)) {}
  std::string folder;
  util::UniqueFd fd;
};

int open_nameless(const std::string& folder) noexcept {
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  // Three ways to say that there are no such files here: the file system's, and those of kernels that see the opening
  // of a folder or the creation of a name.
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return fd;
  return open_unlinked(folder);
}

int open_unlinked(const std::string& folder) noexcept {
  try {
    std::string path = folder + "/pontage-spool-XXXXXX";
    const int fd = ::mkostemp(path.data(), O_CLOEXEC);
    if (fd < 0 || ::unlink(path.c_str()) == 0) return fd;
    // With a name it would stay for ever.
    const int error = errno;
    ::close(fd);
    errno = error;
  } catch (const std::exception&) {
    errno = ENOMEM;
  }
  return -1;
}

}  // namespace detail

// The jobs own their buffer and give it back, and let go of the file at their end: when nobody waits any more it is
// closed on the pool's thread, not on the worker's.
struct Spool::WriteJob {
  std::shared_ptr<detail::SpoolFile> file;
  Buffer bytes;
  std::size_t count;
  std::uint64_t offset;

  util::Result<Buffer> operator()() {
    const auto mine = std::move(file);
    if (!mine->fd) mine->fd.reset(detail::open_nameless(mine->folder));
    if (!mine->fd) return file_failure(errno);
    for (std::size_t done = 0; done < count;) {
      const ssize_t put = ::pwrite(mine->fd.get(), bytes.get() + done, count - done, static_cast<off_t>(offset + done));
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return file_failure(put < 0 ? errno : EIO);
      done += static_cast<std::size_t>(put);
    }
    return std::move(bytes);
  }
};

struct Spool::ReadJob {
  std::shared_ptr<detail::SpoolFile> file;
  Buffer bytes;
  std::size_t most;
  std::uint64_t offset;

  util::Result<Filled> operator()() {
    const auto mine = std::move(file);
    for (;;) {
      const ssize_t got = ::pread(mine->fd.get(), bytes.get(), most, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return file_failure(errno);
      return Filled{std::move(bytes), static_cast<std::size_t>(got)};
    }
  }
};

struct Spool::CloseJob final : net::BlockingPool::Job {
  explicit CloseJob(std::shared_ptr<detail::SpoolFile> last) : file(std::move(last)) {}
  void run() noexcept override { file.reset(); }
  std::shared_ptr<detail::SpoolFile> file;
};

// Closing gives the file's blocks and pages back: 40 ms for a GiB, which no worker has to spare.
Spool::~Spool() {
  if (!file_) return;
  try {
    pool_->post(std::make_shared<CloseJob>(std::move(file_)));
  } catch (const std::exception&) {
    file_.reset();  // out of memory: it is closed here, as when the pool is full
  }
}

net::Task<util::Result<bool>> Spool::take(BodySource& source, Until until, std::uint64_t most) {
  BodyBatch batch;
  std::uint64_t turn = 0;
  while (!ended_) {
    if (broken_) co_return util::Failure(*broken_);
    const std::size_t room = policy_.memory - in_memory_;
    if (until == Until::memory && room == 0) co_return false;
    const std::size_t budget = until == Until::memory ? std::min(room, kBuffer) : kBuffer;
    batch.clear();
    auto taken = co_await source.pull(batch, budget, Patience::wait);
    if (taken) taken = co_await hold(batch);
    if (taken && batch.last == Last::yes) {
      taken = co_await write_gathered();
      gather_.reset();
      ended_ = taken.has_value();
      trailers_ = batch.trailers;
    }
    if (!taken) broken_ = taken.error();
    if (taken && !ended_ && until == Until::flush && (batch.flush == Flush::now || size() >= most)) {
      taken = co_await write_gathered();
      if (taken) co_return false;
      broken_ = taken.error();
    }
    turn += batch.bytes();
    if (turn < kTurnBytes) continue;
    turn = 0;
    net::Yield others_first;
    const auto yielded = co_await others_first;
    if (yielded == net::WaitResult::cancelled && !broken_) {
      broken_ = util::Error{.kind = ErrorKind::cancelled, .source = Source::client, .detail = "spool"};
    }
  }
  co_return true;
}

net::Task<util::Result<void>> Spool::hold(const BodyBatch& batch) {
  for (const auto& piece : batch.view()) {
    // Bytes of a request come from a socket; a range of a file would have to be read here.
    if (piece.file >= 0) co_return util::fail(ErrorKind::unsupported, Source::gateway, "spool of a file");
    std::string_view bytes = piece.memory;
    bytes.remove_prefix(keep(bytes));
    while (!bytes.empty()) {
      if (gathered_ == kBuffer) {
        const auto written = co_await write_gathered();
        if (!written) co_return written;
      }
      bytes.remove_prefix(gather(bytes));
    }
  }
  co_return util::Result<void>{};
}

// What of `bytes` fits into memory. Blocks grow, so that a body of a few bytes costs few.
std::size_t Spool::keep(std::string_view bytes) {
  bytes = bytes.substr(0, policy_.memory - in_memory_);
  const std::size_t kept = bytes.size();
  while (!bytes.empty()) {
    if (blocks_.empty() || blocks_.back().used == blocks_.back().size) {
      const std::size_t next = blocks_.empty() ? kFirstBlock : std::min(blocks_.back().size * 2, kBuffer);
      const std::size_t size = std::min(next, policy_.memory - in_memory_);
      blocks_.push_back(Block{std::make_unique_for_overwrite<char[]>(size), size, 0});
    }
    Block& block = blocks_.back();
    const std::size_t count = std::min(bytes.size(), block.size - block.used);
    std::memcpy(block.bytes.get() + block.used, bytes.data(), count);
    block.used += count;
    in_memory_ += count;
    bytes.remove_prefix(count);
  }
  return kept;
}

std::size_t Spool::gather(std::string_view bytes) {
  if (!gather_) gather_ = std::make_unique_for_overwrite<char[]>(kBuffer);
  const std::size_t count = std::min(bytes.size(), kBuffer - gathered_);
  std::memcpy(gather_.get() + gathered_, bytes.data(), count);
  gathered_ += count;
  return count;
}

net::Task<util::Result<void>> Spool::write_gathered() {
  if (gathered_ == 0) co_return util::Result<void>{};
  if (!file_) file_ = std::make_shared<detail::SpoolFile>(policy_.folder);
  WriteJob job{file_, std::move(gather_), gathered_, in_file_};
  auto call = net::run_blocking(*pool_, *reactor_, reactor_->after(kDiskTimeoutMs), std::move(job));
  util::Result<util::Result<Buffer>> done = co_await call;
  if (!done) co_return util::Failure(done.error());
  util::Result<Buffer>& written = *done;
  if (!written) co_return util::Failure(written.error());
  gather_ = std::move(*written);
  in_file_ += std::exchange(gathered_, 0);
  co_return util::Result<void>{};
}

net::Task<util::Result<void>> Spool::pull(BodyBatch& batch, std::size_t budget, Patience patience) {
  if (broken_) return Pulled::ready(util::Failure(*broken_));
  if (at_ < in_memory_) {
    hand_out_memory(batch, budget);
    return Pulled::ready({});
  }
  if (at_ < in_memory_ + in_file_) return hand_out_file(batch, budget, patience);
  if (!ended_) return pass_on(batch, budget, patience);
  batch.last = Last::yes;
  return Pulled::ready({});
}

void Spool::hand_out_memory(BodyBatch& batch, std::size_t budget) {
  while (at_ < in_memory_ && !batch.full() && budget > 0) {
    const Block& block = blocks_[block_];
    const std::size_t count = std::min(budget, block.used - offset_);
    batch.add({block.bytes.get() + offset_, count});
    budget -= count;
    offset_ += count;
    advance(batch, count);
    if (offset_ < block.used) continue;
    ++block_;
    offset_ = 0;
  }
}

void Spool::advance(BodyBatch& batch, std::size_t count) {
  at_ += count;
  if (ended_ && at_ == size()) batch.last = Last::yes;
}

net::Task<util::Result<void>> Spool::hand_out_file(BodyBatch& batch, std::size_t budget, Patience patience) {
  const std::uint64_t offset = at_ - in_memory_;
  const auto most = static_cast<std::size_t>(std::min<std::uint64_t>({budget, kBuffer, in_file_ - offset}));
  if (most == 0) return Pulled::ready({});
  if (!buffer_) buffer_ = std::make_unique_for_overwrite<char[]>(kBuffer);
  iovec room{buffer_.get(), most};
  // What was written a moment ago is still in the page cache. Whatever else this says, the pool's read says as well.
  const ssize_t got = ::preadv2(file_->fd.get(), &room, 1, static_cast<off_t>(offset), RWF_NOWAIT);
  if (got >= 0) return Pulled::ready(hand_out_buffer(batch, static_cast<std::size_t>(got)));
  if (patience == Patience::none) return Pulled::ready({});
  return read_on_pool(batch, most);
}

net::Task<util::Result<void>> Spool::read_on_pool(BodyBatch& batch, std::size_t most) {
  ReadJob job{file_, std::move(buffer_), most, at_ - in_memory_};
  auto call = net::run_blocking(*pool_, *reactor_, reactor_->after(kDiskTimeoutMs), std::move(job));
  util::Result<util::Result<Filled>> done = co_await call;
  if (!done) co_return util::Failure(done.error());
  util::Result<Filled>& filled = *done;
  if (!filled) co_return util::Failure(filled.error());
  buffer_ = std::move(filled->bytes);
  co_return hand_out_buffer(batch, filled->count);
}

util::Result<void> Spool::hand_out_buffer(BodyBatch& batch, std::size_t count) {
  if (count == 0) return file_failure(0);  // shorter than what was written
  batch.add({buffer_.get(), count});
  advance(batch, count);
  return {};
}

net::Task<util::Result<void>> Spool::pass_on(BodyBatch& batch, std::size_t budget, Patience patience) {
  if (rest_ == nullptr) co_return util::fail(ErrorKind::closed, Source::gateway, "spool without its rest");
  const auto pulled = co_await rest_->pull(batch, budget, patience);
  if (!pulled) co_return pulled;
  if (batch.count > 0) passed_on_ = true;
  if (batch.last == Last::yes && !passed_on_) ended_ = true;  // a rest of nothing: the held bytes are all
  co_return pulled;
}

}  // namespace pontage::http
