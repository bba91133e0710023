// Launcher: starts the processes of CGI scripts (ADAPTERS C4), on threads of the blocking pool, and knows which are
// alive until the end of the gateway.
//
// How, and why so: clone(CLONE_VM | CLONE_VFORK | CLONE_FILES) and raw calls up to execve (launch_child). Nothing of
// the big process is copied: not its page tables, as with fork, and not its table of descriptors, which posix_spawn
// copies and which execve then closes one by one (with ten thousand clients that costs more than the script). For the
// same reason no socket of the gateway is ever open twice, so that closing one takes it out of epoll: the launcher owns
// every number that the child's table is made of, and the kernel makes it in one step (Linux 5.9). posix_spawn has no
// attributes for users and limits; a helper program that sets them would be one more execve, which is most of what a
// request costs, and a launcher process would have to stay root while the gateway gives that up. The calling thread
// waits until the script's image is loaded, which may read a disk: so it is never a worker.
#pragma once

#include <array>
#include <condition_variable>
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

// A signal to the group of a process that was not waited for yet, and to the process itself where it has left its
// group.
void signal_group(pid_t pid, int signal) noexcept;

// By which a launch is ended from another thread, also one that hangs (a dead file system, a stopped child). One
// launch.
class LaunchTicket {
 public:
  void kill() noexcept;
  bool killed() const noexcept;

 private:
  friend class Launcher;
  std::mutex lock_;
  int watch_ = -1;          // written by the kernel before the child runs
  bool cancelled_ = false;  // read by the child
  bool over_ = false;       // guarded by lock_
};

class Launcher {
 public:
  // What nobody owns while its process still runs; deleted at the end.
  class Ward {
   public:
    virtual ~Ward() = default;
  };

  // `places` launches, at least one, go on at the same time; more wait. Make it early and with 0 to 2 open: it takes
  // every small number that is free for the descriptors it keeps, and one that is registered with a reactor has no
  // business among them. A process that may have less than 256 descriptors keeps none, and its launches fail. Throws
  // std::system_error when there are none left.
  explicit Launcher(unsigned places);
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  ~Launcher();

  // Waits until the program runs, or cannot. A launch that was killed may still give a process, a dying one: it has to
  // be waited for. Any thread.
  wire::Expected<Launched, LaunchFailure> launch(const LaunchPlan& plan, LaunchTicket& ticket);

  // A process that was launched has been waited for.
  void note_gone(pid_t pid) noexcept;
  void adopt(Ward& ward);
  void release(Ward& ward) noexcept;
  // The end of the gateway, when no worker runs any more: kills what is alive and all launches, deletes the wards, and
  // waits, but not for ever: the kernel may be unable to end a process. Launches fail from now on.
  void end() noexcept;
  bool ended() const noexcept;

 private:
  struct Place {
    std::array<util::UniqueFd, 3> fds;
  };
  struct Ends;
  class Held;
  class Registered;
  bool note_alive(pid_t pid);

  std::vector<Place> places_;
  util::UniqueFd nothing_;               // /dev/null
  std::vector<util::UniqueFd> fillers_;  // of the numbers that nobody else may have
  unsigned first_foreign_ = 3;
  mutable std::mutex lock_;
  std::condition_variable place_freed_;
  std::vector<Place*> free_;  // guarded by lock_, as are the next
  std::vector<LaunchTicket*> tickets_;
  std::vector<pid_t> alive_;
  std::vector<Ward*> wards_;
  bool ended_ = false;
};

}  // namespace pontage::upstream
