// The listening sockets that the service manager opened before us (sd_listen_fds(3): LISTEN_PID, LISTEN_FDS,
// LISTEN_FDNAMES), for `bind: fd:NAME`. Taken once, before anything else has a descriptor; kept open until the end, so
// that a listener may leave the configuration and come back, and no connection is ever refused meanwhile. Control
// thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/util/unique_fd.h"

namespace pontage::gateway {

class InheritedSockets {
 public:
  InheritedSockets() = default;
  // What the environment says is ours, with numbers from `lowest` on and closed at exec; the variables are gone
  // afterwards. Only while there is one thread.
  static InheritedSockets take(int lowest);

  // Descriptors of one's own for all sockets called `name`. Empty with a sentence in `error` when there is none, or one
  // is no listening stream socket.
  std::vector<util::UniqueFd> open(std::string_view name, std::string& error) const;

 private:
  std::vector<std::pair<std::string, util::UniqueFd>> sockets_;
};

}  // namespace pontage::gateway
