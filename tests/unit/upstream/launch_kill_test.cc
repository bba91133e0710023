// Launches that hang, and processes that left their group (ADAPTERS C4, C6): each can be ended.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>

#include "tests/unit/upstream/launches.h"

namespace pontage::upstream {
namespace {

using namespace testing;
using Step = LaunchFailure::Step;

// A script whose execve waits: who opens a file on which somebody holds a lease waits until it is given up.
class HeldScript {
 public:
  HeldScript() {
    ::signal(SIGIO, SIG_IGN);  // by which the kernel asks for it
    std::ofstream(path_) << "#!/bin/sh\necho ran\n";
    ::chmod(path_.c_str(), 0755);
    file_.reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    held_ = ::fcntl(file_.get(), F_SETLEASE, F_WRLCK) == 0;
  }
  ~HeldScript() { ::unlink(path_.c_str()); }

  bool held() const { return held_; }
  LaunchPlan plan() const { return {.program = path_, .arguments = {path_}, .folder = "/", .environment = {}}; }
  // Until somebody waits for the file.
  void wait_until_wanted() const {
    while (::fcntl(file_.get(), F_GETLEASE) == F_WRLCK) std::this_thread::yield();
  }

 private:
  std::string path_ = ::testing::TempDir() + "held-" + std::to_string(::getpid());
  util::UniqueFd file_;
  bool held_ = false;
};

struct Attempt {
  Attempt(Launcher& launcher, LaunchPlan plan)
      : thread([&launcher, this, plan = std::move(plan)] { result.emplace(launcher.launch(plan, ticket)); }) {}

  LaunchTicket ticket;
  std::optional<wire::Expected<Launched, LaunchFailure>> result;
  std::thread thread;
};

TEST(LaunchTicket, KilledBeforeItsLaunchStartsNothing) {
  Launcher launcher(1);
  LaunchTicket ticket;
  ticket.kill();
  const auto made = launcher.launch(shell("true"), ticket);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().os_error, ECANCELED);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(LaunchTicket, EndsALaunchThatHangs) {
  const HeldScript script;
  if (!script.held()) GTEST_SKIP() << "no leases here";
  Launcher launcher(1);
  Attempt attempt(launcher, script.plan());
  script.wait_until_wanted();
  attempt.ticket.kill();
  attempt.thread.join();
  ASSERT_TRUE(*attempt.result);  // a process that is dead
  const int status = wait_for(launcher, **attempt.result);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(LaunchTicket, KillsNothingWhenItsLaunchIsOver) {
  Launcher launcher(1);
  LaunchTicket ticket;
  auto process = launcher.launch(shell("read x; exit 3", Input::pipe), ticket);
  ASSERT_TRUE(process);
  ticket.kill();
  process->input.reset();
  const int status = wait_for(launcher, *process);
  EXPECT_TRUE(WIFEXITED(status));
}

TEST(Launcher, EndsLaunchesThatHang) {
  const HeldScript script;
  if (!script.held()) GTEST_SKIP() << "no leases here";
  Launcher launcher(1);
  Attempt hangs(launcher, script.plan());
  script.wait_until_wanted();
  Attempt waits(launcher, shell("true"));  // for the one place
  launcher.end();
  hangs.thread.join();
  waits.thread.join();
  for (const auto* attempt : {&hangs, &waits}) {
    ASSERT_FALSE(*attempt->result);
    EXPECT_EQ(attempt->result->error().os_error, ECANCELED);
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(SignalGroup, ReachesAProcessThatLeftItsGroup) {
  Launcher launcher(1);
  auto process =
      launched(launcher, {.program = "/usr/bin/perl",
                          .arguments = {"perl", "-e", "setpgrp(0, getpgrp(getppid())); close(STDOUT); sleep"},
                          .folder = "/",
                          .environment = {}});
  EXPECT_EQ(read_all(process.output.get()), "");
  EXPECT_EQ(::getpgid(process.pid), ::getpgrp());
  signal_group(process.pid, SIGKILL);
  const int status = wait_for(launcher, process);
  EXPECT_TRUE(WIFSIGNALED(status));
}

}  // namespace
}  // namespace pontage::upstream
