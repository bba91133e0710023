#include "src/net/reactor.h"

#include <array>
#include <cerrno>
#include <system_error>

#include <sys/epoll.h>
#include <sys/eventfd.h>

namespace pontage::net {
namespace {

constexpr int kEventsPerTurn = 256;
constexpr std::uint64_t kTrimMs = 1000;
constexpr int kLastSteps = 16;
constexpr std::uint64_t kLongestSleepMs = 10'000;

int checked(int fd, const char* what) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  return fd;
}

}  // namespace

Reactor::Reactor(unsigned id)
    : id_(id),
      epoll_(checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      wake_(checked(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd")),
      wheel_(util::monotonic_ns() / 1'000'000) {
  read_clocks();
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;  // the mailbox
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
}

Reactor::~Reactor() = default;

void Reactor::read_clocks() noexcept {
  ++turn_;
  turn_cycles_ = util::cycles();
  timespec coarse{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &coarse);
  now_ms_ = static_cast<std::uint64_t>(coarse.tv_sec) * 1000 + static_cast<std::uint64_t>(coarse.tv_nsec) / 1'000'000;
  timespec wall{};
  clock_gettime(CLOCK_REALTIME_COARSE, &wall);
  unix_seconds_ = wall.tv_sec;
}

void Reactor::run() {
  while (!stopping_.load(std::memory_order_acquire)) {
    wait_for_events();
    if (mail_arrived_) take_mail();
    wheel_.advance(now_ms_);
    run_ready();
    if (now_ms_ >= trim_at_ms_) {
      chunks_.trim();
      trim_at_ms_ = now_ms_ + kTrimMs;
    }
    if (turn_hook_) turn_hook_(util::cycles() - turn_cycles_);
  }
  // What was cancelled unwinds in a few steps: a session joins its pump, a pump buries its connection.
  for (int step = 0; step < kLastSteps; ++step) {
    take_mail();
    run_ready();
  }
}

void Reactor::wait_for_events() {
  std::array<epoll_event, kEventsPerTurn> events;
  const int timeout = ready_.empty() ? static_cast<int>(wheel_.next_in(now_ms_, kLongestSleepMs)) : 0;
  const int count = epoll_wait(epoll_.get(), events.data(), kEventsPerTurn, timeout);
  read_clocks();
  for (int i = 0; i < count; ++i) {
    const auto& event = events[static_cast<std::size_t>(i)];
    if (event.data.ptr == nullptr) {
      mail_arrived_ = true;
    } else {
      static_cast<EventTarget*>(event.data.ptr)->on_events(event.events);
    }
  }
}

void Reactor::run_ready() {
  // Only what is ready now: fibers that become ready meanwhile wait for the next turn, so that no one of them owns the
  // loop.
  util::IntrusiveList<Wait> now;
  now.splice_back(ready_);
  while (Wait* wait = now.pop_front()) wait->resume();
}

void Reactor::take_mail() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(wake_.get(), &count, sizeof count);
  mail_arrived_ = false;
  std::vector<std::function<void()>> mail;
  {
    const std::lock_guard lock(mail_lock_);
    mail.swap(mail_);
  }
  for (auto& work : mail) work();
}

void Reactor::post(std::function<void()> work) {
  bool first = false;
  {
    const std::lock_guard lock(mail_lock_);
    first = mail_.empty();
    mail_.push_back(std::move(work));
  }
  if (!first) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto put = ::write(wake_.get(), &one, sizeof one);
}

void Reactor::stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto put = ::write(wake_.get(), &one, sizeof one);
}

bool Reactor::add(int fd, std::uint32_t events, EventTarget& target) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &target;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Reactor::remove(int fd) noexcept {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

}  // namespace pontage::net
