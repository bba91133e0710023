// Launcher: starts the processes of CGI scripts (ADAPTERS C4), on threads of the blocking pool, and knows which are
// alive until the end of the gateway.
//
// How, and why so: clone(CLONE_VM | CLONE_VFORK | CLONE_FILES) and raw system calls up to execve. Nothing of the big
// process is copied: not its page tables, as with fork, and not its table of descriptors, which posix_spawn copies and
// which execve then closes one by one (with ten thousand clients that costs more than the script). For the same reason
// no socket of the gateway is ever open twice, so that closing one takes it out of epoll. posix_spawn has no attributes
// for users and limits; a helper program that sets them would be one more execve, which is most of what a request
// costs, and a launcher process would have to stay root while the gateway gives that up. The calling thread waits until
// the script's image is loaded, which may read a disk: so it is never a worker.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/types.h>

#include "protocols/wire/expected.h"
#include "src/util/unique_fd.h"

namespace pontage::upstream {

// What a script may be and have; immutable, shared.
struct Confinement {
  struct Identity {
    uid_t user = 0;
    gid_t group = 0;
    std::vector<gid_t> groups;
  };
  std::optional<Identity> identity;
  std::vector<std::pair<int, rlimit>> limits;
};

enum class Input : std::uint8_t { none, pipe };  // none: /dev/null

struct LaunchPlan {
  std::string program;                 // an absolute path
  std::vector<std::string> arguments;  // the first is the program's name
  std::string folder;                  // the working directory
  std::string environment;             // NAME=VALUE, each ended by NUL
  std::shared_ptr<const Confinement> confinement{};
  Input input = Input::none;
};

// A process that runs, with the near ends of its pipes. Whoever has it must wait for it.
struct Launched {
  pid_t pid = -1;        // also its process group
  util::UniqueFd watch;  // readable when it has ended
  util::UniqueFd input;  // closed with Input::none
  util::UniqueFd output;
  util::UniqueFd errors;
};

struct LaunchFailure {
  enum class Step : std::uint8_t { prepare, descriptors, limits, user, folder, program };
  Step step = Step::prepare;
  int os_error = 0;
};
const char* to_string(LaunchFailure::Step step) noexcept;

// By which a launch that hangs (a dead file system, a stopped child) is ended from another thread.
class LaunchTicket {
 public:
  void kill() noexcept;

 private:
  friend class Launcher;
  std::mutex lock_;
  int watch_ = -1;     // written by the kernel before the child runs
  bool over_ = false;  // guarded by lock_
};

class Launcher {
 public:
  // What nobody owns while its process still runs; deleted at the end.
  class Ward {
   public:
    virtual ~Ward() = default;
  };

  // `places` launches may go on at the same time without a copy of the descriptor table; more are legal. Make it early:
  // the descriptors it keeps for that should have small numbers. Throws std::system_error without descriptors.
  explicit Launcher(unsigned places);
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  ~Launcher();

  // Waits until the program runs, or cannot. Any thread.
  wire::Expected<Launched, LaunchFailure> launch(const LaunchPlan& plan, LaunchTicket& ticket);

  // A process that was launched has been waited for.
  void note_gone(pid_t pid) noexcept;
  void adopt(Ward& ward);
  void release(Ward& ward) noexcept;
  // The end of the gateway, when no worker runs any more: kills and waits for what is alive, deletes the wards;
  // launches fail from now on.
  void end() noexcept;
  bool ended() const noexcept;

 private:
  struct Place {
    std::array<util::UniqueFd, 3> fds;
  };
  struct Ends;
  class Held;
  bool note_alive(pid_t pid);

  std::vector<Place> places_;
  util::UniqueFd nothing_;  // /dev/null
  unsigned first_foreign_ = 3;
  mutable std::mutex lock_;
  std::vector<Place*> free_;  // guarded by lock_, as are the next
  std::vector<pid_t> alive_;
  std::vector<Ward*> wards_;
  bool ended_ = false;
};

}  // namespace pontage::upstream
