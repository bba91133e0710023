#include "src/upstream/launcher.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <system_error>

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// libc's clone by its other name: ThreadSanitizer takes every clone() for a fork, and with shared memory what it does
// to the child it does to us.
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...) noexcept;

namespace pontage::upstream {

using Step = LaunchFailure::Step;

namespace {

constexpr int kLastPlainSignal = 31;

// What the child is told, and the one thing it tells: it runs in our memory until execve.
struct Orders {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* folder;
  const Confinement* confinement;
  std::array<int, 3> ends;  // become 0, 1, 2
  unsigned first_foreign;   // descriptors from here on are not for the child
  Step step = Step::descriptors;
  int os_error = 0;
};

// The kernel's own struct sigaction with the default action: libc's wrapper keeps books that are the parent's.
struct DefaultAction {
  std::array<unsigned long, 4> words{};
};

__attribute__((no_sanitize("address", "thread", "undefined"))) bool done(Orders& orders, Step step, long result) {
  if (result >= 0) return true;
  orders.step = step;
  orders.os_error = errno;
  return false;
}

// A table of its own, with the descriptors below `first_foreign` alone. Where the kernel may not do that in one step,
// all are copied, and execve closes them.
__attribute__((no_sanitize("address", "thread", "undefined"))) bool take_descriptors(Orders& orders) {
  if (::syscall(SYS_close_range, orders.first_foreign, ~0U, CLOSE_RANGE_UNSHARE) != 0 &&
      !done(orders, Step::descriptors, ::syscall(SYS_unshare, CLONE_FILES))) {
    return false;
  }
  for (int to = 0; to < 3; ++to) {
    if (!done(orders, Step::descriptors, ::syscall(SYS_dup3, orders.ends[static_cast<std::size_t>(to)], to, 0))) {
      return false;
    }
  }
  return true;
}

__attribute__((no_sanitize("address", "thread", "undefined"))) bool confine(Orders& orders) {
  if (orders.confinement == nullptr) return true;
  for (const auto& [resource, limit] : orders.confinement->limits) {
    if (!done(orders, Step::limits, ::syscall(SYS_prlimit64, 0, resource, &limit, nullptr))) return false;
  }
  if (!orders.confinement->identity) return true;
  // Raw calls change this task alone; libc's would ask every thread of the parent to follow.
  const auto& who = *orders.confinement->identity;
  return done(orders, Step::user, ::syscall(SYS_setgroups, who.groups.size(), who.groups.data())) &&
         done(orders, Step::user, ::syscall(SYS_setresgid, who.group, who.group, who.group)) &&
         done(orders, Step::user, ::syscall(SYS_setresuid, who.user, who.user, who.user));
}

// The child. It may call the kernel and nothing else; the sanitizers' books are the parent's, too. The folder is
// entered as the script's user, for it may be one that only this user may enter.
__attribute__((no_sanitize("address", "thread", "undefined"))) int run_child(void* argument) {
  auto& orders = *static_cast<Orders*>(argument);
  if (!done(orders, Step::prepare, ::syscall(SYS_setpgid, 0, 0)) || !take_descriptors(orders)) return 127;
  // No handler of ours may run here, and nothing that we ignore is ignored by the script.
  const DefaultAction plain;
  for (int signal = 1; signal <= kLastPlainSignal; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) ::syscall(SYS_rt_sigaction, signal, &plain, nullptr, 8);
  }
  if (!confine(orders) || !done(orders, Step::folder, ::syscall(SYS_chdir, orders.folder))) return 127;
  const std::uint64_t none = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none);
  done(orders, Step::program, ::syscall(SYS_execve, orders.program, orders.arguments, orders.environment));
  return 127;
}

// Runs the child to its execve, with every signal held back from this thread: the child has its mask.
pid_t start(Orders& orders, int* watch) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  alignas(64) std::array<char, 64 * 1024> stack;
  constexpr int kFlags = CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_PIDFD | SIGCHLD;
  const pid_t pid = ::__clone(&run_child, stack.data() + stack.size(), kFlags, &orders, watch);
  const int os_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = os_error;
  return pid;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (const auto& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

std::vector<char*> pointers(const std::string& block) {
  std::vector<char*> all;
  all.reserve(64);
  for (std::size_t at = 0; at < block.size(); at = block.find('\0', at) + 1) {
    all.push_back(const_cast<char*>(block.data() + at));
  }
  all.push_back(nullptr);
  return all;
}

// What the gateway was started with is no business of scripts either.
void close_inherited_on_exec() noexcept {
  if (::syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  constexpr int kUsual = 1024;
  for (int fd = 3; fd < kUsual; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

int checked(int fd) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "descriptors for processes");
  return fd;
}

}  // namespace

const char* to_string(Step step) noexcept {
  switch (step) {
    case Step::prepare: return "start a process";
    case Step::descriptors: return "give it its descriptors";
    case Step::limits: return "set its limits";
    case Step::user: return "become its user";
    case Step::folder: return "enter its folder";
    case Step::program: return "execute it";
  }
  return "";
}

void LaunchTicket::kill() noexcept {
  const std::lock_guard guard(lock_);
  const int watch = std::atomic_ref(watch_).load();
  if (!over_ && watch >= 0) ::syscall(SYS_pidfd_send_signal, watch, SIGKILL, nullptr, 0);
}

// The pipes of one launch.
struct Launcher::Ends {
  std::array<util::UniqueFd, 3> near;
  std::array<util::UniqueFd, 3> far;

  // `reads`: the process does.
  bool open(std::size_t which, bool reads) {
    std::array<int, 2> pipe;
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return false;
    near[which].reset(pipe[reads ? 1 : 0]);
    far[which].reset(pipe[reads ? 0 : 1]);
    return ::fcntl(near[which].get(), F_SETFL, O_NONBLOCK) == 0;
  }
};

// The descriptors of small numbers that stand for the far ends while the child takes them over.
class Launcher::Held {
 public:
  explicit Held(Launcher& launcher) : launcher_(&launcher) {
    const std::lock_guard guard(launcher.lock_);
    if (launcher.free_.empty()) return;
    place_ = launcher.free_.back();
    launcher.free_.pop_back();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (place_ == nullptr) return;
    for (std::size_t i = 0; i < 3; ++i) {
      if (used_[i]) ::dup3(launcher_->nothing_.get(), place_->fds[i].get(), O_CLOEXEC);
    }
    const std::lock_guard guard(launcher_->lock_);
    launcher_->free_.push_back(place_);
  }

  bool put(Orders& orders, std::size_t which, const util::UniqueFd& far) {
    const int from = far ? far.get() : launcher_->nothing_.get();
    orders.ends[which] = from;
    if (place_ == nullptr) {
      orders.first_foreign = std::max(orders.first_foreign, static_cast<unsigned>(from) + 1);
      return true;
    }
    orders.ends[which] = place_->fds[which].get();
    if (!far) return true;  // it stands for /dev/null anyway
    used_[which] = true;
    return ::dup3(from, orders.ends[which], O_CLOEXEC) >= 0;
  }

 private:
  Launcher* launcher_;
  Place* place_ = nullptr;
  std::array<bool, 3> used_{};
};

// Never below 3: the child's dup3 must not overwrite what it still needs.
Launcher::Launcher(unsigned places) : places_(places) {
  const util::UniqueFd opened(checked(::open("/dev/null", O_RDWR | O_CLOEXEC)));
  nothing_.reset(checked(::fcntl(opened.get(), F_DUPFD_CLOEXEC, 3)));
  first_foreign_ = static_cast<unsigned>(nothing_.get()) + 1;
  for (auto& place : places_) {
    for (auto& fd : place.fds) {
      fd.reset(checked(::fcntl(opened.get(), F_DUPFD_CLOEXEC, 3)));
      first_foreign_ = std::max(first_foreign_, static_cast<unsigned>(fd.get()) + 1);
    }
    free_.push_back(&place);
  }
  close_inherited_on_exec();
}

Launcher::~Launcher() {
  end();
}

wire::Expected<Launched, LaunchFailure> Launcher::launch(const LaunchPlan& plan, LaunchTicket& ticket) {
  const auto failed = [](Step step, int os_error) { return wire::Unexpected(LaunchFailure{step, os_error}); };
  if (ended()) return failed(Step::prepare, ECANCELED);
  Ends ends;
  const bool opened = (plan.input == Input::none || ends.open(0, true)) && ends.open(1, false) && ends.open(2, false);
  if (!opened) return failed(Step::prepare, errno);
  const auto arguments = pointers(plan.arguments);
  const auto environment = pointers(plan.environment);
  Orders orders{.program = plan.program.c_str(),
                .arguments = arguments.data(),
                .environment = environment.data(),
                .folder = plan.folder.c_str(),
                .confinement = plan.confinement.get(),
                .ends = {},
                .first_foreign = first_foreign_};
  pid_t pid = -1;
  int os_error = 0;
  {
    Held held(*this);
    for (std::size_t i = 0; i < 3; ++i) {
      if (!held.put(orders, i, ends.far[i])) return failed(Step::prepare, errno);
    }
    pid = start(orders, &ticket.watch_);
    os_error = errno;
  }
  {
    const std::lock_guard guard(ticket.lock_);
    ticket.over_ = true;
  }
  if (pid < 0) return failed(Step::prepare, os_error);
  Launched launched{.pid = pid,
                    .watch = util::UniqueFd(ticket.watch_),
                    .input = std::move(ends.near[0]),
                    .output = std::move(ends.near[1]),
                    .errors = std::move(ends.near[2])};
  if (orders.os_error != 0) {
    ::waitpid(pid, nullptr, 0);
    return failed(orders.step, orders.os_error);
  }
  if (!note_alive(pid)) {  // the end came first
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return failed(Step::prepare, ECANCELED);
  }
  return launched;
}

bool Launcher::note_alive(pid_t pid) {
  const std::lock_guard guard(lock_);
  if (!ended_) alive_.push_back(pid);
  return !ended_;
}

void Launcher::note_gone(pid_t pid) noexcept {
  const std::lock_guard guard(lock_);
  const auto found = std::find(alive_.begin(), alive_.end(), pid);
  if (found == alive_.end()) return;
  *found = alive_.back();
  alive_.pop_back();
}

void Launcher::adopt(Ward& ward) {
  const std::lock_guard guard(lock_);
  wards_.push_back(&ward);
}

void Launcher::release(Ward& ward) noexcept {
  const std::lock_guard guard(lock_);
  std::erase(wards_, &ward);
}

void Launcher::end() noexcept {
  std::vector<pid_t> left;
  std::vector<Ward*> wards;
  {
    const std::lock_guard guard(lock_);
    ended_ = true;
    left = alive_;
    wards.swap(wards_);
  }
  for (const pid_t pid : left) ::kill(-pid, SIGKILL);
  for (Ward* ward : wards) delete ward;
  {
    const std::lock_guard guard(lock_);
    left.swap(alive_);  // those without an owner that could wait for them
    alive_.clear();
  }
  for (const pid_t pid : left) ::waitpid(pid, nullptr, 0);
}

bool Launcher::ended() const noexcept {
  const std::lock_guard guard(lock_);
  return ended_;
}

}  // namespace pontage::upstream
