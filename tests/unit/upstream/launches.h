// Launches for tests, and what their processes say.
#pragma once

#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/upstream/launcher.h"

namespace pontage::upstream::testing {

inline LaunchPlan shell(const std::string& command, Input input = Input::none) {
  return {.program = "/bin/sh",
          .arguments = {"/bin/sh", "-c", command},
          .folder = "/",
          .environment = std::string("NAME=value\0", 11),
          .input = input};
}

inline Launched launched(Launcher& launcher, const LaunchPlan& plan) {
  LaunchTicket ticket;
  auto made = launcher.launch(plan, ticket);
  EXPECT_TRUE(made) << to_string(made.error().step) << " " << made.error().os_error;
  return made ? std::move(*made) : Launched{};
}

inline LaunchFailure failure(Launcher& launcher, const LaunchPlan& plan) {
  LaunchTicket ticket;
  auto made = launcher.launch(plan, ticket);
  EXPECT_FALSE(made);
  return made ? LaunchFailure{} : made.error();
}

inline std::string read_all(int fd) {
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

inline int wait_for(Launcher& launcher, const Launched& process) {
  int status = 0;
  EXPECT_EQ(::waitpid(process.pid, &status, 0), process.pid);
  launcher.note_gone(process.pid);
  return status;
}

}  // namespace pontage::upstream::testing
