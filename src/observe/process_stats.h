// What the kernel knows about this process, for the standard process_* metrics. Reads /proc; any thread that may block.
#pragma once

#include <cstdint>

namespace pontage::observe {

// Zero where the kernel would not say.
struct ProcessStats {
  double cpu_seconds = 0;         // user and system, all threads
  double start_time_seconds = 0;  // since 1970
  std::uint64_t open_fds = 0;
  std::uint64_t max_fds = 0;  // the soft limit
  std::uint64_t resident_bytes = 0;
  std::uint64_t virtual_bytes = 0;
};
ProcessStats read_process_stats();

}  // namespace pontage::observe
