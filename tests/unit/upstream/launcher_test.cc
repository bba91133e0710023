// The start of processes (ADAPTERS C4): what they inherit, what a failure says, and what the end of a launcher leaves.
#include "src/upstream/launcher.h"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pontage::upstream {
namespace {

using Step = LaunchFailure::Step;

LaunchPlan shell(const std::string& command, Input input = Input::none) {
  return {.program = "/bin/sh",
          .arguments = {"/bin/sh", "-c", command},
          .folder = "/",
          .environment = std::string("NAME=value\0", 11),
          .input = input};
}

Launched launched(Launcher& launcher, const LaunchPlan& plan) {
  LaunchTicket ticket;
  auto made = launcher.launch(plan, ticket);
  EXPECT_TRUE(made) << to_string(made.error().step) << " " << made.error().os_error;
  return made ? std::move(*made) : Launched{};
}

LaunchFailure failure(Launcher& launcher, const LaunchPlan& plan) {
  LaunchTicket ticket;
  auto made = launcher.launch(plan, ticket);
  EXPECT_FALSE(made);
  return made ? LaunchFailure{} : made.error();
}

std::string read_all(int fd) {
  std::string text;
  for (;;) {
    pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 10'000) != 1) return text + " (nothing more in time)";
    char room[4096];
    const ssize_t got = ::read(fd, room, sizeof room);
    if (got <= 0) return text;
    text.append(room, static_cast<std::size_t>(got));
  }
}

int wait_for(Launcher& launcher, const Launched& process) {
  int status = 0;
  EXPECT_EQ(::waitpid(process.pid, &status, 0), process.pid);
  launcher.note_gone(process.pid);
  return status;
}

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

TEST(Launcher, WorksWithoutAPlace) {
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
