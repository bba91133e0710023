#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include <sched.h>

#include "src/gateway/gateway.h"

namespace pontage::gateway {

unsigned default_workers() {
  cpu_set_t set;
  CPU_ZERO(&set);
  unsigned cpus = 1;
  if (sched_getaffinity(0, sizeof set, &set) == 0) cpus = static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (file >> quota >> period && quota != "max" && period > 0) {
    const double share = std::ceil(std::stod(quota) / period);
    cpus = std::min(cpus, static_cast<unsigned>(std::max(1.0, share)));
  }
  return std::min(cpus, 256U);
}

}  // namespace pontage::gateway
