#include "src/upstream/process.h"

#include <algorithm>
#include <array>
#include <csignal>

#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/observe/log.h"
#include "src/upstream/error_lines.h"
#include "src/upstream/server.h"

namespace pontage::upstream {

namespace {

constexpr std::uint64_t kLeftoverMs = 1000;  // ADAPTERS C5
constexpr unsigned kLinesKept = 5;           // in ten seconds
constexpr int kLastReads = 16;               // of an error stream whose process has ended
constexpr std::uint64_t kLookMs = 100;

}  // namespace

Process::Process(net::Reactor& reactor, Launcher& launcher, Launched& launched, About about)
    : Timer(&Process::on_timer),
      reactor_(&reactor),
      launcher_(&launcher),
      about_(std::move(about)),
      pid_(launched.pid),
      watch_(std::move(launched.watch)),
      errors_(std::move(launched.errors)) {
  launched.pid = -1;
  if (!reactor.add(watch_.get(), EPOLLIN, *this)) look_later();
  // Level-triggered: each turn takes one read of it, however much a script has to say.
  if (!reactor.add(errors_.get(), EPOLLIN, errors_target_)) errors_.reset();
  if (about_.patience.total == 0) return;
  total_until_ms_ = reactor.now_ms() + about_.patience.total;
  expect(Due::total, about_.patience.total);
}

// After its end the launcher has seen to every process.
Process::~Process() {
  const bool ours = !lost_ && !launcher_->ended();
  if (ours && !ended_) signal_group(pid_, SIGKILL);
  for (int i = 0; i < kLastReads && errors_ && read_errors(); ++i) {
  }
  log_line();
  // One that was told to go takes its group along: what is left of it is not the script's wish.
  if (ours && ended_ && terminating_) ::kill(-pid_, SIGKILL);
  if (alone_) launcher_->release(*this);
  if (ours && ended_) ::waitpid(pid_, nullptr, 0);
  if (ended_) launcher_->note_gone(pid_);
}

void Process::on_events(std::uint32_t) noexcept {
  look();
}

Process::Look::Look(Process& p) noexcept
    : Timer([](net::Timer& timer) noexcept { static_cast<Look&>(timer).process->look(); }), process(&p) {}

void Process::look() noexcept {
  if (ended_) return;
  siginfo_t info{};
  // It stays unwaited-for until it is destroyed, which keeps its number.
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    lost_ = true;
    note_end(CLD_EXITED, 0);
  } else if (info.si_pid == 0) {
    look_later();  // the watch says so before, when a debugger has it
  } else {
    note_end(info.si_code, info.si_status);
  }
}

void Process::look_later() noexcept {
  reactor_->remove(watch_.get());
  reactor_->wheel().schedule(look_, reactor_->now_ms() + kLookMs);
}

void Process::note_end(int code, int status) noexcept {
  ended_ = true;
  watch_.reset();
  note_status(code, status);
  if (waiting_ != nullptr) waiting_->complete(net::WaitResult::ready);
  // Not at once: an event of the error stream may follow in this turn.
  if (alone_) {
    expect(Due::destruction, 0);
  } else {
    expect(Due::leftover, kLeftoverMs);
  }
}

void Process::note_status(int code, int status) noexcept {
  by_signal_ = code != CLD_EXITED;
  const ProcessSeries& series = about_.series;
  if (terminating_) {
    about_.metrics->add(series.killed);
    return;
  }
  about_.metrics->add(by_signal_ ? series.signal : status == 0 ? series.exited : series.failed);
  if (by_signal_) {
    observe::log::warn_limited("cgi-signal " + about_.server->backend(), "{}: {} was ended by signal {}",
                               about_.server->backend(), about_.script, status);
  } else if (status != 0) {
    observe::log::warn_limited("cgi-status " + about_.server->backend(), "{}: {} ended with status {}",
                               about_.server->backend(), about_.script, status);
  }
}

void Process::expect(Due due, std::uint64_t in_ms) noexcept {
  due_ = due;
  due_ms_ = reactor_->now_ms() + in_ms;
  reactor_->wheel().schedule(*this, due_ms_);
}

void Process::on_timer(net::Timer& timer) noexcept {
  static_cast<Process&>(timer).fire();
}

void Process::fire() noexcept {
  switch (due_) {
    case Due::nothing: return;
    case Due::total:
      observe::log::warn_limited("cgi-total " + about_.server->backend(), "{}: {} took longer than timeouts.total",
                                 about_.server->backend(), about_.script);
      terminate();
      if (listener_ != nullptr) listener_->on_overdue();
      return;
    case Due::leftover:
      due_ = Due::nothing;
      if (listener_ != nullptr) listener_->on_output_left_open();
      return;
    case Due::after:
      observe::log::warn_limited("cgi-after " + about_.server->backend(),
                                 "{}: {} still ran long after its response: it is killed", about_.server->backend(),
                                 about_.script);
      terminate();
      return;
    case Due::kill:
      due_ = Due::nothing;
      signal_group(pid_, SIGKILL);
      return;
    case Due::destruction: delete this; return;
  }
}

// A stopped process would not hear the first.
void Process::terminate() noexcept {
  if (terminating_) return;
  terminating_ = true;
  signal_group(pid_, SIGTERM);
  signal_group(pid_, SIGCONT);
  expect(Due::kill, about_.patience.kill);
}

void Process::stand_alone() {
  alone_ = true;
  launcher_->adopt(*this);
}

void Process::let_go(std::unique_ptr<Process> process, Rest rest) noexcept {
  process->listener_ = nullptr;
  if (process->ended_) {
    // The script is over; what it left behind goes with an exchange that failed, and stays after one that did not.
    if (rest == Rest::is_killed) process->terminating_ = true;
    return;
  }
  Process* alone = process.release();
  alone->stand_alone();
  alone->place_ = Place::of_connection(alone->about_.server);
  if (rest == Rest::is_killed) {
    alone->terminate();
  } else if (!alone->terminating_) {
    constexpr std::uint64_t kNever = ~std::uint64_t{0};
    std::uint64_t after = alone->about_.patience.after == 0 ? kNever : alone->about_.patience.after;
    const std::uint64_t now = alone->reactor_->now_ms();
    if (alone->total_until_ms_ != 0)
      after = std::min(after, alone->total_until_ms_ - std::min(now, alone->total_until_ms_));
    if (after == kNever) {
      alone->due_ = Due::nothing;
    } else {
      alone->expect(Due::after, after);
    }
  }
}

void Process::discard(net::Reactor& reactor, Launcher& launcher, Launched& launched, About about,
                      Place place) noexcept {
  auto* alone = new Process(reactor, launcher, launched, std::move(about));
  alone->place_ = std::move(place);
  alone->stand_alone();
  alone->terminate();
}

void Process::Errors::on_events(std::uint32_t) noexcept {
  process->read_errors();
}

bool Process::read_errors() noexcept {
  std::array<char, 4096> room;
  const ssize_t got = ::read(errors_.get(), room.data(), room.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    errors_.reset();
    return false;
  }
  try {
    cut_lines(line_, {room.data(), static_cast<std::size_t>(got)}, [this] { log_line(); });
  } catch (const std::bad_alloc&) {
    line_.clear();
  }
  return true;
}

void Process::log_line() {
  if (!line_.empty()) {
    observe::log::warn_few("stderr " + about_.server->backend(), kLinesKept, "{}: {} says: {}",
                           about_.server->backend(), about_.script, line_);
  }
  line_.clear();
}

}  // namespace pontage::upstream
