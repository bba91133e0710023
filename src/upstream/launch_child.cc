#include "src/upstream/launch_child.h"

#include <atomic>
#include <cerrno>
#include <csignal>

#include <linux/close_range.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// libc's clone by its other name: ThreadSanitizer takes every clone() for a fork, and with shared memory what it does
// to the child it does to us.
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...) noexcept;

// The sanitizers' books are the parent's, too.
#define PONTAGE_CHILD __attribute__((no_sanitize("address", "thread", "undefined")))

namespace pontage::upstream {

using Step = LaunchFailure::Step;

namespace {

constexpr int kLastSignal = 64;
constexpr int kFailed = 127;

// The kernel's own struct sigaction with the default action: libc's wrapper keeps books that are the parent's.
struct DefaultAction {
  std::array<unsigned long, 4> words{};
};

PONTAGE_CHILD bool fail(LaunchOrders& orders, Step step, int os_error) {
  orders.step = step;
  orders.os_error = os_error;
  return false;
}

PONTAGE_CHILD bool done(LaunchOrders& orders, Step step, long result) {
  return result >= 0 || fail(orders, step, errno);
}

// Who cancels sets this first and then looks for a process to kill: one of the two meets the other.
PONTAGE_CHILD bool wanted(LaunchOrders& orders) {
  return !__atomic_load_n(orders.cancelled, __ATOMIC_SEQ_CST) || fail(orders, Step::prepare, ECANCELED);
}

// A table of its own with the launcher's descriptors alone, which is then one of the three that the script has.
PONTAGE_CHILD bool take_descriptors(LaunchOrders& orders) {
  const long own = ::syscall(SYS_close_range, orders.first_foreign, ~0U, CLOSE_RANGE_UNSHARE);
  if (!done(orders, Step::descriptors, own)) return false;
  for (int to = 0; to < 3; ++to) {
    const long put = ::syscall(SYS_dup3, orders.ends[static_cast<std::size_t>(to)], to, 0);
    if (!done(orders, Step::descriptors, put)) return false;
  }
  return done(orders, Step::descriptors, ::syscall(SYS_close_range, 3, ~0U, 0));
}

PONTAGE_CHILD bool confine(LaunchOrders& orders) {
  // What the gateway may do beyond its user, to bind low ports say, is not for scripts.
  const long dropped = ::syscall(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (!done(orders, Step::user, dropped)) return false;
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

// The folder is entered as the script's user, for it may be one that only this user may enter.
PONTAGE_CHILD int run_child(void* argument) {
  auto& orders = *static_cast<LaunchOrders*>(argument);
  if (!wanted(orders) || !done(orders, Step::prepare, ::syscall(SYS_setpgid, 0, 0)) || !take_descriptors(orders)) {
    return kFailed;
  }
  // No handler of ours may run here, and nothing that we ignore is ignored by the script.
  const DefaultAction plain;
  for (int signal = 1; signal <= kLastSignal; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) ::syscall(SYS_rt_sigaction, signal, &plain, nullptr, 8);
  }
  if (!confine(orders) || !done(orders, Step::folder, ::syscall(SYS_chdir, orders.folder))) return kFailed;
  const std::uint64_t none = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none);
  done(orders, Step::program, ::syscall(SYS_execve, orders.program, orders.arguments, orders.environment));
  return kFailed;
}

}  // namespace

// Every signal is held back from this thread meanwhile: the child has its mask.
pid_t start_child(LaunchOrders& orders, int* watch) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  alignas(64) std::array<char, 64 * 1024> stack;
  constexpr int kFlags = CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_PIDFD | SIGCHLD;
  const pid_t pid = ::__clone(&run_child, stack.data() + stack.size(), kFlags, &orders, watch);
  const int os_error = errno;
  // The kernel may have written a number that is somebody else's by now.
  if (pid < 0) std::atomic_ref(*watch).store(-1);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = os_error;
  return pid;
}

}  // namespace pontage::upstream

#undef PONTAGE_CHILD
