// The start of processes (ADAPTERS C4): what they inherit, what a failure says, and what the end of a launcher leaves.
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/upstream/launches.h"

namespace pontage::upstream {
namespace {

using namespace testing;
using Step = LaunchFailure::Step;

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

TEST(Launcher, RunsAProgramBetweenThreePipes) {
  Launcher launcher(1);
  auto process = launched(launcher, shell("read x; echo \"$x $NAME\"; echo bad >&2; exit 5", Input::pipe));
  ASSERT_EQ(::write(process.input.get(), "word\n", 5), 5);
  EXPECT_EQ(read_all(process.output.get()), "word value\n");
  EXPECT_EQ(read_all(process.errors.get()), "bad\n");
  const int status = wait_for(launcher, process);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 5);
}

TEST(Launcher, GivesNoDescriptorButThree) {
  const int inherited = ::open("/dev/null", O_RDONLY);  // not close-on-exec, as what a service manager leaves
  Launcher launcher(1);
  const int high = ::fcntl(inherited, F_DUPFD_CLOEXEC, 500);
  auto process = launched(launcher, shell("for fd in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$fd ] && echo $fd; done; "
                                          "[ -e /proc/$$/fd/500 ] && echo 500; true"));
  EXPECT_EQ(read_all(process.output.get()), "");
  wait_for(launcher, process);
  ::close(inherited);
  ::close(high);
}

// A number that the child's table is made of must never be that of a socket which a reactor knows.
TEST(Launcher, OwnsEveryNumberThatTheKernelCopies) {
  const int hole = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(hole);
  Launcher launcher(1);
  const util::UniqueFd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_GE(next.get(), 64);
}

TEST(Launcher, HasAtLeastOnePlace) {
  Launcher launcher(0);
  auto process = launched(launcher, shell("cat", Input::pipe));
  ASSERT_EQ(::write(process.input.get(), "x", 1), 1);
  process.input.reset();
  EXPECT_EQ(read_all(process.output.get()), "x");
  wait_for(launcher, process);
}

TEST(Launcher, LeavesTheCallersMaskHandlersAndFolderAlone) {
  Launcher launcher(1);
  const auto folder = std::filesystem::current_path();
  struct sigaction before {};
  ::signal(SIGUSR2, SIG_IGN);
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  const int blocked = ::sigismember(&mask, SIGTERM);
  auto process = launched(launcher, shell("exit 0"));
  wait_for(launcher, process);
  ::sigaction(SIGUSR2, nullptr, &before);
  EXPECT_EQ(before.sa_handler, SIG_IGN);
  ::signal(SIGUSR2, SIG_DFL);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(::sigismember(&mask, SIGTERM), blocked);
  EXPECT_EQ(std::filesystem::current_path(), folder);
}

TEST(Launcher, IgnoresNoSignalForTheScript) {
  Launcher launcher(1);
  const int last = SIGRTMAX;
  ::signal(SIGUSR2, SIG_IGN);
  ::signal(last, SIG_IGN);
  auto process = launched(launcher, shell("grep SigIgn /proc/self/status"));
  EXPECT_EQ(read_all(process.output.get()), "SigIgn:\t0000000000000000\n");
  wait_for(launcher, process);
  ::signal(SIGUSR2, SIG_DFL);
  ::signal(last, SIG_DFL);
}

// Of the calling thread alone, and for what it starts.
bool raise_ambient(int capability) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[2]{};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  data[0].inheritable |= 1U << static_cast<unsigned>(capability);
  return ::syscall(SYS_capset, &header, data) == 0 &&
         ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) == 0;
}

TEST(Launcher, PassesNoAmbientCapability) {
  Launcher launcher(1);
  bool raised = false;
  std::string text;
  std::thread([&] {
    raised = raise_ambient(CAP_NET_BIND_SERVICE);
    auto process = launched(launcher, shell("grep CapAmb /proc/self/status"));
    text = read_all(process.output.get());
    wait_for(launcher, process);
  }).join();
  if (!raised) GTEST_SKIP() << "may not raise a capability";
  EXPECT_EQ(text, "CapAmb:\t0000000000000000\n");
}

TEST(Launcher, SaysWhatFailedAndLeavesNothing) {
  Launcher launcher(1);
  const std::size_t before = open_descriptors();
  LaunchPlan plan = shell("true");
  plan.program = "/does/not/exist";
  auto failed = failure(launcher, plan);
  EXPECT_EQ(failed.step, Step::program);
  EXPECT_EQ(failed.os_error, ENOENT);
  plan = shell("true");
  plan.folder = "/does/not/exist";
  failed = failure(launcher, plan);
  EXPECT_EQ(failed.step, Step::folder);
  plan.folder = "/";
  plan.environment.assign(200 * 1024, 'x').append(1, '\0');
  failed = failure(launcher, plan);
  EXPECT_EQ(failed.os_error, E2BIG);
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // no child is left
}

TEST(Launcher, SetsLimits) {
  Launcher launcher(1);
  auto confinement = std::make_shared<Confinement>();
  confinement->limits = {{RLIMIT_NOFILE, {77, 77}}};
  LaunchPlan plan = shell("ulimit -n");
  plan.confinement = confinement;
  auto process = launched(launcher, plan);
  EXPECT_EQ(read_all(process.output.get()), "77\n");
  wait_for(launcher, process);
}

TEST(Launcher, ChangesTheUserOfTheChildAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may";
  Launcher launcher(1);
  auto confinement = std::make_shared<Confinement>();
  confinement->identity = Confinement::Identity{.user = 65534, .group = 65534, .groups = {}};
  LaunchPlan plan = shell("id -u; id -G");
  plan.confinement = confinement;
  auto process = launched(launcher, plan);
  EXPECT_EQ(read_all(process.output.get()), "65534\n65534\n");
  wait_for(launcher, process);
  EXPECT_EQ(::geteuid(), 0U);
}

// To the kernel, user -1 means "stay who you are".
TEST(Launcher, RunsNothingAsAUserThatDoesNotExist) {
  Launcher launcher(1);
  for (const auto& [user, group] : {std::pair{~uid_t{0}, gid_t{65534}}, std::pair{uid_t{65534}, ~gid_t{0}}}) {
    auto confinement = std::make_shared<Confinement>();
    confinement->identity = Confinement::Identity{.user = user, .group = group, .groups = {}};
    LaunchPlan plan = shell("id -u");
    plan.confinement = confinement;
    const auto failed = failure(launcher, plan);
    EXPECT_EQ(failed.step, Step::user);
    EXPECT_EQ(failed.os_error, EINVAL);
  }
}

TEST(Launcher, StartsFromManyThreadsAtOnce) {
  Launcher launcher(2);
  const std::size_t before = open_descriptors();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&launcher, t] {
      for (int i = 0; i < 20; ++i) {
        auto process = launched(launcher, shell("echo " + std::to_string(t * 100 + i)));
        EXPECT_EQ(read_all(process.output.get()), std::to_string(t * 100 + i) + "\n");
        wait_for(launcher, process);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Launcher, KillsWhatIsAliveAtItsEnd) {
  Launcher launcher(1);
  auto process = launched(launcher, shell("sleep 300 & wait"));
  launcher.end();
  EXPECT_EQ(::kill(process.pid, 0), -1);
  EXPECT_EQ(failure(launcher, shell("true")).os_error, ECANCELED);
}

}  // namespace
}  // namespace pontage::upstream
