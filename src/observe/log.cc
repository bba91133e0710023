#include "src/observe/log.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <span>

#include <fmt/format.h>
#include <spdlog/async_logger.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include "src/observe/escape.h"

namespace pontage::observe::log {
namespace {

constexpr std::chrono::seconds kInterval{10};

// Writes formatted lines to a descriptor. The pool has one thread and the synchronous path holds the lock of State.
class FdSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit FdSink(int fd) noexcept : fd_(fd) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    std::string_view rest(line.data(), line.size());
    while (!rest.empty()) {
      const ssize_t done = ::write(fd_, rest.data(), rest.size());
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return;  // nowhere to complain
      rest.remove_prefix(static_cast<std::size_t>(done));
    }
  }
  void flush_() override {}

 private:
  const int fd_;
};

std::unique_ptr<spdlog::formatter> make_formatter() {
  return std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc,
                                                     "\n");
}

struct State {
  std::mutex mutex;
  std::shared_ptr<spdlog::details::thread_pool> pool;
  std::shared_ptr<spdlog::async_logger> logger;  // null: write at once
  std::uint64_t dropped_before = 0;              // by queues that are gone
  RateLimiter limiter{kInterval};
};
// Never destroyed: destructors of other statics may log.
State& state() {
  static State* const one = new State;
  return *one;
}

spdlog::level::level_enum spdlog_level(Level level) noexcept {
  switch (level) {
    case Level::debug: return spdlog::level::debug;
    case Level::info: return spdlog::level::info;
    case Level::warn: return spdlog::level::warn;
    case Level::error: return spdlog::level::err;
  }
  return spdlog::level::err;
}

void block_signals() noexcept {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

void write_now(Level level, std::string_view text) {
  FdSink sink(2);
  sink.set_formatter(make_formatter());
  sink.log(spdlog::details::log_msg("", spdlog_level(level), spdlog::string_view_t(text.data(), text.size())));
}

void put(Level level, std::string_view text, std::uint64_t held_back) {
  std::array<char, kMaxLine + 64> room;
  wire::Sink line{std::span(room).first(kMaxLine)};
  append_printable(line, text.substr(0, kMaxLine));
  std::size_t length = line.size();
  if (line.overflowed() || text.size() > kMaxLine || held_back > 0) {
    wire::Sink tail{std::span(room).subspan(length)};
    if (line.overflowed() || text.size() > kMaxLine) tail.append(" ...");
    if (held_back > 0) {
      tail.append(" (and ");
      tail.append_decimal(held_back);
      tail.append(" more like it)");
    }
    length += tail.size();
  }
  std::shared_ptr<spdlog::async_logger> logger;
  {
    const std::lock_guard lock(state().mutex);
    logger = state().logger;
    if (!logger) return write_now(level, {room.data(), length});
  }
  logger->log(spdlog_level(level), spdlog::string_view_t(room.data(), length));
}

}  // namespace

namespace detail {

std::atomic<Level> g_level{Level::info};

// A log that cannot be written must not become the caller's failure.
void write(Level level, fmt::string_view format, fmt::format_args args) noexcept {
  try {
    fmt::memory_buffer text;
    fmt::vformat_to(std::back_inserter(text), format, args);
    put(level, {text.data(), text.size()}, 0);
  } catch (...) {
  }
}

void write_limited(Level level, std::string_view key, unsigned few, fmt::string_view format,
                   fmt::format_args args) noexcept {
  try {
    const auto held_back = state().limiter.admit(key, RateLimiter::Clock::now(), few);
    if (!held_back) return;
    fmt::memory_buffer text;
    fmt::vformat_to(std::back_inserter(text), format, args);
    put(level, {text.data(), text.size()}, *held_back);
  } catch (...) {
  }
}

}  // namespace detail

void start(const Options& options) {
  set_level(options.level);
  const std::lock_guard lock(state().mutex);
  if (state().logger) return;
  auto pool = std::make_shared<spdlog::details::thread_pool>(options.queue, 1, block_signals);
  auto logger = std::make_shared<spdlog::async_logger>("", std::make_shared<FdSink>(options.fd), pool,
                                                       spdlog::async_overflow_policy::overrun_oldest);
  logger->set_level(spdlog::level::trace);  // ours is checked first
  logger->set_formatter(make_formatter());
  state().pool = std::move(pool);
  state().logger = std::move(logger);
}

void stop() noexcept {
  std::shared_ptr<spdlog::details::thread_pool> pool;
  std::shared_ptr<spdlog::async_logger> logger;
  {
    const std::lock_guard lock(state().mutex);
    if (!state().pool) return;
    state().dropped_before += state().pool->overrun_counter();
    pool = std::move(state().pool);
    logger = std::move(state().logger);
  }
  pool.reset();  // writes what is queued, then joins
}

void set_level(Level level) noexcept {
  detail::g_level.store(level, std::memory_order_relaxed);
}

std::uint64_t dropped() noexcept {
  const std::lock_guard lock(state().mutex);
  return state().dropped_before + (state().pool ? state().pool->overrun_counter() : 0);
}

std::optional<std::uint64_t> RateLimiter::admit(std::string_view key, Clock::time_point now, unsigned few) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found != entries_.end()) {
    Entry& entry = found->second;
    if (now - entry.passed < interval_) {
      if (entry.count++ < few) return 0;
      ++entry.held_back;
      return std::nullopt;
    }
    entry.passed = now;
    entry.count = 1;
    return std::exchange(entry.held_back, 0);
  }
  if (entries_.size() >= kMaxKeys) {
    auto oldest = entries_.begin();
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
      if (at->second.passed < oldest->second.passed) oldest = at;
    }
    entries_.erase(oldest);
  }
  entries_.emplace(key, Entry{.passed = now});
  return 0;
}

}  // namespace pontage::observe::log
