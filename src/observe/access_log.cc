#include "src/observe/access_log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/observe/log.h"

namespace pontage::observe {
namespace {

constexpr int kRoundMs = 200;
constexpr std::chrono::seconds kStopTime{1};

void block_signals() noexcept {
  sigset_t all;  // SIGPIPE too: a reader that went away is an error of write()
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

void complain(const util::Error& error, const std::string& path) noexcept {
  const char* const reason = ::strerrordesc_np(error.os_error);
  log::error_limited(error.detail, "{} {}: {}", error.detail, path, reason != nullptr ? reason : "unknown error");
}

}  // namespace

AccessLog::AccessLog(std::size_t ring_size)
    : ring_size_(ring_size), wake_fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!wake_fd_) throw std::system_error(errno, std::generic_category(), "eventfd");
}

AccessLog::~AccessLog() {
  stop();
}

util::Result<void> AccessLog::configure(AccessFormat format, const std::string& file) {
  if (format != AccessFormat::off && file != path_) {
    auto opened = LogFile::open(file);
    if (!opened) return util::Failure(opened.error());
    {
      const std::lock_guard lock(mutex_);
      next_file_ = std::move(*opened);
      path_ = file;
    }
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    flush();
  }
  format_.store(format, std::memory_order_relaxed);
  return {};
}

AccessRing& AccessLog::add_ring() {
  const std::lock_guard lock(mutex_);
  rings_.push_back(std::make_unique<AccessRing>(format_, wake_fd_.get(), ring_size_));
  return *rings_.back();
}

void AccessLog::reopen() noexcept {
  {
    const std::lock_guard lock(mutex_);
    reopen_ = true;
  }
  wake();
}

void AccessLog::flush() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(mutex_);
  const std::uint64_t mine = ++flush_wanted_;
  wake();
  flushed_.wait(lock, [&] { return flush_done_ >= mine; });
}

void AccessLog::stop() noexcept {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake();
  thread_.join();
}

std::uint64_t AccessLog::dropped() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t all = 0;
  for (const auto& ring : rings_) all += ring->dropped();
  return all;
}

void AccessLog::wake() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t done = ::write(wake_fd_.get(), &one, sizeof one);
}

void AccessLog::run() {
  block_signals();
  while (true) {
    Orders orders = take_orders();
    Round round = drain(orders.rings);
    if (orders.reopen || orders.file || reopen_failed_) {
      obey(orders);
      round = drain(orders.rings);
    }
    {
      const std::lock_guard lock(mutex_);
      flush_done_ = orders.flush;
    }
    flushed_.notify_all();
    if (orders.stop) return finish(orders.rings);
    sleep(round, kRoundMs);
  }
}

AccessLog::Orders AccessLog::take_orders() {
  const std::lock_guard lock(mutex_);
  Orders orders{stop_, std::exchange(reopen_, false), flush_wanted_, std::exchange(next_file_, std::nullopt), {}};
  orders.rings.reserve(rings_.size());
  for (const auto& ring : rings_) orders.rings.push_back(ring.get());
  return orders;
}

void AccessLog::obey(Orders& orders) {
  if (orders.file) {
    file_ = std::move(*orders.file);
    reopen_failed_ = false;
    return skip_torn_line(orders.rings);
  }
  const auto reopened = file_.reopen();
  reopen_failed_ = !reopened;
  if (reopen_failed_) return complain(reopened.error(), file_.path());
  skip_torn_line(orders.rings);
}

// One round: what each ring holds now. A ring whose line was cut short goes first next time, so that the line is
// completed.
AccessLog::Round AccessLog::drain(const std::vector<AccessRing*>& rings) {
  for (std::size_t n = 0; n < rings.size(); ++n) {
    if (const Round round = drain_ring(*rings[first_]); round != Round::done) return round;
    first_ = (first_ + 1) % rings.size();
  }
  return Round::done;
}

AccessLog::Round AccessLog::drain_ring(AccessRing& ring) {
  std::array<iovec, 2> pieces{};
  while (const std::size_t count = ring.readable(pieces)) {
    const std::size_t all = pieces[0].iov_len + (count == 2 ? pieces[1].iov_len : 0);
    const auto written = file_.write(std::span(pieces).first(count));
    if (!written) {
      complain(written.error(), file_.path());
      return Round::failed;
    }
    if (*written == 0) return Round::stuck;
    const bool in_first = *written <= pieces[0].iov_len;
    const auto& piece = pieces[in_first ? 0 : 1];
    const std::size_t last = (in_first ? *written : *written - pieces[0].iov_len) - 1;
    torn_ = static_cast<const char*>(piece.iov_base)[last] != '\n';
    ring.consume(*written);
    if (*written == all) return Round::done;
  }
  return Round::done;
}

// Another file begins with a whole line.
void AccessLog::skip_torn_line(const std::vector<AccessRing*>& rings) noexcept {
  if (!std::exchange(torn_, false)) return;
  std::array<iovec, 2> pieces{};
  AccessRing& ring = *rings[first_];
  const std::size_t count = ring.readable(pieces);
  std::size_t skipped = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto* const begin = static_cast<const char*>(pieces[i].iov_base);
    const auto* const end = static_cast<const char*>(std::memchr(begin, '\n', pieces[i].iov_len));
    if (end != nullptr) return ring.consume(skipped + static_cast<std::size_t>(end - begin) + 1);
    skipped += pieces[i].iov_len;
  }
}

void AccessLog::finish(const std::vector<AccessRing*>& rings) {
  const auto until = std::chrono::steady_clock::now() + kStopTime;
  for (Round round = drain(rings); round != Round::done; round = drain(rings)) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    if (left <= 0) {
      log::error("the last lines of the access log {} are lost: it takes nothing", file_.path());
      return;
    }
    sleep(round, static_cast<int>(std::min<std::int64_t>(left, kRoundMs)));
  }
}

// Until somebody wakes us, the time is up, or, when stuck, the file takes more. One that fails would always be "ready".
void AccessLog::sleep(Round last, int timeout_ms) noexcept {
  const bool wait_for_file = last == Round::stuck && file_.fd() >= 0;
  std::array<pollfd, 2> wanted{{{wake_fd_.get(), POLLIN, 0}, {wait_for_file ? file_.fd() : -1, POLLOUT, 0}}};
  ::poll(wanted.data(), wanted.size(), timeout_ms);
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t done = ::read(wake_fd_.get(), &count, sizeof count);
}

}  // namespace pontage::observe
