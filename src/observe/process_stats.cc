#include "src/observe/process_stats.h"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

namespace pontage::observe {
namespace {

double cpu_seconds() noexcept {
  timespec used{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

std::uint64_t count_open_fds() {
  std::error_code error;
  std::uint64_t n = 0;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end; at.increment(error))
    ++n;
  return n > 0 ? n - 1 : 0;  // without the one that reads the directory
}

// proc(5): field 22 of /proc/self/stat is the start in clock ticks since boot; the name in field 2 may hold anything,
// but not after the last ')'. `btime` of /proc/stat is the boot in seconds since 1970.
double start_time() {
  std::ifstream self("/proc/self/stat");
  std::string line;
  std::getline(self, line);
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  double ticks = 0;
  fields >> ticks;
  std::ifstream kernel("/proc/stat");
  while (std::getline(kernel, line)) {
    if (!line.starts_with("btime ")) continue;
    return static_cast<double>(std::strtoull(line.c_str() + 6, nullptr, 10)) +
           ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  return 0;
}

}  // namespace

ProcessStats read_process_stats() {
  ProcessStats stats;
  stats.cpu_seconds = cpu_seconds();
  stats.open_fds = count_open_fds();
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) stats.max_fds = files.rlim_cur;
  std::uint64_t pages = 0;
  std::uint64_t resident = 0;
  std::ifstream memory("/proc/self/statm");
  if (memory >> pages >> resident) {
    const auto page_size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    stats.virtual_bytes = pages * page_size;
    stats.resident_bytes = resident * page_size;
  }
  static const double started = start_time();
  stats.start_time_seconds = started;
  return stats;
}

}  // namespace pontage::observe
