// Process: one running script, from its launch until it has ended and was waited for (ADAPTERS C5, C6). It knows when
// the process ends, takes what it says on its error stream to the log, and kills its group when time is up. While its
// process has not been waited for, the group's number cannot be another's, so that killing the group is always safe.
// Owned by a connection, which lets go of it at the end of the exchange; from then on by itself. Worker's thread.
#pragma once

#include <memory>
#include <string>

#include "src/net/fiber.h"
#include "src/net/reactor.h"
#include "src/observe/metrics.h"
#include "src/upstream/launcher.h"
#include "src/upstream/place.h"

namespace pontage::upstream {

// How long a process may take, in milliseconds.
struct ProcessPatience {
  std::uint64_t total = 0;      // from its start; 0: any
  std::uint64_t after = 60000;  // for what it does after its response
  std::uint64_t kill = 5000;    // between SIGTERM and SIGKILL
};

// Where processes that ended are counted: backend_processes_total.
struct ProcessSeries {
  observe::SeriesId exited;  // with status 0
  observe::SeriesId failed;  // with another
  observe::SeriesId signal;  // by a signal that was not ours
  observe::SeriesId killed;  // by ours
};

class Process final : public Launcher::Ward, private net::EventTarget, private net::Timer {
 public:
  // Who reads the output. Called in the first pass of a turn; runs no fiber and does not destroy the process.
  class Listener {
   public:
    // The process has ended, and for a second its output has not: somebody else holds it.
    virtual void on_output_left_open() noexcept = 0;
    // `total` has passed.
    virtual void on_overdue() noexcept = 0;

   protected:
    ~Listener() = default;
  };
  struct About {
    std::string script;  // for the log
    std::shared_ptr<BackendServer> server;
    ProcessPatience patience;
    ProcessSeries series;
    observe::WorkerMetrics* metrics = nullptr;
  };

  // Takes the process, its watch and its error stream over.
  Process(net::Reactor& reactor, Launcher& launcher, Launched& launched, About about);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  // Kills the group when the process still runs; waits for one that has ended, and leaves any other to the launcher.
  ~Process() override;

  void listen(Listener* listener) noexcept { listener_ = listener; }
  bool ended() const noexcept { return ended_; }
  // Meaningful once it has ended.
  bool ended_by_signal() const noexcept { return by_signal_; }
  const std::string& script() const noexcept { return about_.script; }

  // Suspends until the process has ended.
  class End;
  End end(net::Deadline deadline) noexcept;

  enum class Rest : std::uint8_t {
    may_go_on,  // its response is whole
    is_killed   // SIGTERM now, SIGKILL later
  };
  // The exchange is over. A process that still runs keeps its place in the server's pool until it ends.
  static void let_go(std::unique_ptr<Process> process, Rest rest) noexcept;
  // A launch that nobody waits for any more: it keeps its place until it ends, too.
  static void discard(net::Reactor& reactor, Launcher& launcher, Launched& launched, About about, Place place) noexcept;

 private:
  enum class Due : std::uint8_t { nothing, total, leftover, after, kill, destruction };
  struct Errors final : net::EventTarget {
    explicit Errors(Process& p) noexcept : process(&p) {}
    void on_events(std::uint32_t events) noexcept override;
    Process* process;
  };
  // Looks whether the process has ended when its watch cannot tell.
  struct Look final : net::Timer {
    explicit Look(Process& p) noexcept;
    Process* process;
  };

  void on_events(std::uint32_t events) noexcept override;
  static void on_timer(net::Timer& timer) noexcept;
  void fire() noexcept;
  void look() noexcept;
  void look_later() noexcept;
  void note_end(int code, int status) noexcept;
  void stand_alone();
  void expect(Due due, std::uint64_t in_ms) noexcept;
  void terminate() noexcept;
  void note_status(int code, int status) noexcept;
  // One read of the error stream; false when there is nothing now.
  bool read_errors() noexcept;
  void log_line();

  net::Reactor* reactor_;
  Launcher* launcher_;
  About about_;
  pid_t pid_;
  util::UniqueFd watch_;
  util::UniqueFd errors_;
  Errors errors_target_{*this};
  Look look_{*this};
  Place place_;  // when it has one of its own
  std::string line_;
  Listener* listener_ = nullptr;
  End* waiting_ = nullptr;
  std::uint64_t due_ms_ = 0;
  std::uint64_t total_until_ms_ = 0;  // 0: any
  Due due_ = Due::nothing;
  bool ended_ = false;
  bool by_signal_ = false;
  bool terminating_ = false;
  bool alone_ = false;  // owned by itself
  bool lost_ = false;   // somebody else has waited for it: its number may be another's
};

class Process::End : public net::Wait {
 public:
  End(Process& process, net::Deadline deadline) noexcept : Wait(observe::Phase::server, deadline), process_(&process) {}
  bool await_ready() const noexcept { return process_->ended_; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    if (!suspend(coroutine)) return false;
    process_->waiting_ = this;
    return true;
  }
  net::WaitResult await_resume() const noexcept { return result(); }

 private:
  void withdraw() noexcept override { process_->waiting_ = nullptr; }
  Process* process_;
};

inline Process::End Process::end(net::Deadline deadline) noexcept {
  return End(*this, deadline);
}

}  // namespace pontage::upstream
