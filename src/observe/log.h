// The error log: `2026-01-01T00:00:00.000Z level message`, one line each, to stderr. Callable from any thread at any
// time. Between start() and stop() a thread of its own writes; the queue is bounded and gives up its oldest lines when
// stderr is slow, so nobody waits for it. Before and after, lines are written at once. Whatever is in a message comes
// out as one line with its control bytes escaped (ADAPTERS X21); it is cut at kMaxLine. Secrets are the caller's
// business: never pass one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace pontage::observe::log {

enum class Level : std::uint8_t { debug, info, warn, error };

inline constexpr std::size_t kMaxLine = 8192;

struct Options {
  Level level = Level::info;
  int fd = 2;                // not closed
  std::size_t queue = 8192;  // lines
};
// Starts the writing thread; a second start() without stop() only changes the level.
void start(const Options& options = {});
// Writes what is queued and ends the thread. It waits for stderr.
void stop() noexcept;
void set_level(Level level) noexcept;
// Lines that the full queue gave up since the process began.
std::uint64_t dropped() noexcept;

// Lets a few events (one unless told otherwise) per key and interval pass and counts the rest. Knows at most kMaxKeys
// keys; the one longest silent is forgotten.
class RateLimiter {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMaxKeys = 256;
  explicit RateLimiter(Clock::duration interval) noexcept : interval_(interval) {}

  // How many events of `key` were held back since the last that passed; nullopt: hold this one back. Any thread.
  std::optional<std::uint64_t> admit(std::string_view key, Clock::time_point now = Clock::now(), unsigned few = 1);

 private:
  struct Entry {
    Clock::time_point passed;  // when the first of the interval did
    unsigned count = 1;
    std::uint64_t held_back = 0;
  };
  const Clock::duration interval_;
  std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
};

namespace detail {
extern std::atomic<Level> g_level;
inline bool enabled(Level level) noexcept {
  return level >= g_level.load(std::memory_order_relaxed);
}
void write(Level level, fmt::string_view format, fmt::format_args args) noexcept;
// As write, `few` times per key and 10 s; the next line tells how many were held back.
void write_limited(Level level, std::string_view key, unsigned few, fmt::string_view format,
                   fmt::format_args args) noexcept;
}  // namespace detail

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (detail::enabled(Level::debug)) detail::write(Level::debug, format, fmt::make_format_args(args...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (detail::enabled(Level::info)) detail::write(Level::info, format, fmt::make_format_args(args...));
}
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (detail::enabled(Level::warn)) detail::write(Level::warn, format, fmt::make_format_args(args...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (detail::enabled(Level::error)) detail::write(Level::error, format, fmt::make_format_args(args...));
}
// For what a client or a broken server can cause again and again. `key` names the kind of event, plus the server or
// route when each shall be told by itself; it is compared, not printed.
template <class... Args>
void info_limited(std::string_view key, fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (detail::enabled(Level::info)) detail::write_limited(Level::info, key, format, fmt::make_format_args(args...));
}
template <class... Args>
void warn_limited(std::string_view key, fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (detail::enabled(Level::warn)) detail::write_limited(Level::warn, key, 1, format, fmt::make_format_args(args...));
}
// For what others say, in lines: a few of them are needed to understand it.
template <class... Args>
void warn_few(std::string_view key, unsigned few, fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (detail::enabled(Level::warn))
    detail::write_limited(Level::warn, key, few, format, fmt::make_format_args(args...));
}
template <class... Args>
void error_limited(std::string_view key, fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (detail::enabled(Level::error))
    detail::write_limited(Level::error, key, 1, format, fmt::make_format_args(args...));
}

}  // namespace pontage::observe::log
