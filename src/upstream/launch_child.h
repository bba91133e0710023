// The child's half of a launch: what it is told, and its way from the clone to execve. It runs in the parent's memory,
// so it calls the kernel and nothing else. Called by Launcher alone, on whichever thread launches.
#pragma once

#include <array>

#include "src/upstream/launcher.h"

namespace pontage::upstream {

// What the child is told, and the one thing it tells: which step failed, and how (os_error != 0).
struct LaunchOrders {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* folder;
  const Confinement* confinement;
  const bool* cancelled;       // written by other threads
  std::array<int, 3> ends{};   // become 0, 1, 2; never below 3
  unsigned first_foreign = 0;  // descriptors from here on are not even copied for the child
  LaunchFailure::Step step = LaunchFailure::Step::prepare;
  int os_error = 0;
};

// Runs the child to its execve, or to its end. The process id, or -1 and errno; `watch` gets its pidfd before it runs.
pid_t start_child(LaunchOrders& orders, int* watch);

}  // namespace pontage::upstream
