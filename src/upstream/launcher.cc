#include "src/upstream/launcher.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/upstream/launch_child.h"

namespace pontage::upstream {

using Step = LaunchFailure::Step;

namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::chrono::seconds kEndPatience{2};  // for processes that were killed
constexpr std::chrono::milliseconds kEndLook{1};
constexpr unsigned kTableStep = 64;  // in which the kernel copies descriptor tables
constexpr rlim_t kFewest = 256;      // descriptors of a gateway that can spare so many

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (const auto& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

std::vector<char*> pointers(const std::string& block) {
  std::vector<char*> all;
  all.reserve(64);
  for (std::size_t at = 0; at < block.size(); at = block.find('\0', at) + 1) {
    all.push_back(const_cast<char*>(block.data() + at));
  }
  all.push_back(nullptr);
  return all;
}

int checked(int fd) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "descriptors for processes");
  return fd;
}

bool has_descriptors() noexcept {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max >= kFewest;
}

// To the kernel, -1 means "stay who you are".
bool can_become(const Confinement* confinement) noexcept {
  if (confinement == nullptr || !confinement->identity) return true;
  return confinement->identity->user != ~uid_t{0} && confinement->identity->group != ~gid_t{0};
}

void wait_until(SteadyTime until, pid_t pid) noexcept {
  while (::waitpid(pid, nullptr, WNOHANG) == 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kEndLook);
  }
}

}  // namespace

const char* to_string(Step step) noexcept {
  switch (step) {
    case Step::prepare: return "start a process";
    case Step::descriptors: return "give it its descriptors";
    case Step::limits: return "set its limits";
    case Step::user: return "become its user";
    case Step::folder: return "enter its folder";
    case Step::program: return "execute it";
  }
  return "";
}

void signal_group(pid_t pid, int signal) noexcept {
  ::kill(-pid, signal);
  if (::getpgid(pid) != pid) ::kill(pid, signal);
}

void LaunchTicket::kill() noexcept {
  const std::lock_guard guard(lock_);
  std::atomic_ref(cancelled_).store(true);
  const int watch = std::atomic_ref(watch_).load();
  if (!over_ && watch >= 0) ::syscall(SYS_pidfd_send_signal, watch, SIGKILL, nullptr, 0);
}

bool LaunchTicket::killed() const noexcept {
  return std::atomic_ref(const_cast<bool&>(cancelled_)).load();
}

// The pipes of one launch.
struct Launcher::Ends {
  std::array<util::UniqueFd, 3> near;
  std::array<util::UniqueFd, 3> far;

  // `reads`: the process does.
  bool open(std::size_t which, bool reads) {
    std::array<int, 2> pipe;
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return false;
    near[which].reset(pipe[reads ? 1 : 0]);
    far[which].reset(pipe[reads ? 0 : 1]);
    return ::fcntl(near[which].get(), F_SETFL, O_NONBLOCK) == 0;
  }
};

// The descriptors of small numbers that stand for the far ends while the child takes them over. Waits for a place; none
// is given after the end.
class Launcher::Held {
 public:
  explicit Held(Launcher& launcher) : launcher_(&launcher) {
    std::unique_lock guard(launcher.lock_);
    launcher.place_freed_.wait(guard, [&] { return launcher.ended_ || !launcher.free_.empty(); });
    if (launcher.ended_) return;
    place_ = launcher.free_.back();
    launcher.free_.pop_back();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (place_ == nullptr) return;
    for (std::size_t i = 0; i < 3; ++i) {
      if (used_[i]) ::dup3(launcher_->nothing_.get(), place_->fds[i].get(), O_CLOEXEC);
    }
    {
      const std::lock_guard guard(launcher_->lock_);
      launcher_->free_.push_back(place_);
    }
    launcher_->place_freed_.notify_one();
  }

  explicit operator bool() const noexcept { return place_ != nullptr; }
  bool put(LaunchOrders& orders, std::size_t which, const util::UniqueFd& far) {
    orders.ends[which] = place_->fds[which].get();
    if (!far) return true;  // it stands for /dev/null anyway
    used_[which] = true;
    return ::dup3(far.get(), orders.ends[which], O_CLOEXEC) >= 0;
  }

 private:
  Launcher* launcher_;
  Place* place_ = nullptr;
  std::array<bool, 3> used_{};
};

// While the end may kill this launch.
class Launcher::Registered {
 public:
  Registered(Launcher& launcher, LaunchTicket& ticket) : launcher_(&launcher), ticket_(&ticket) {
    const std::lock_guard guard(launcher.lock_);
    if (launcher.ended_) ticket.kill();
    launcher.tickets_.push_back(&ticket);
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered() {
    const std::lock_guard guard(launcher_->lock_);
    std::erase(launcher_->tickets_, ticket_);
  }

 private:
  Launcher* launcher_;
  LaunchTicket* ticket_;
};

// Never below 3: the child's dup3 must not overwrite what it still needs. What is copied by the step is filled to the
// step.
Launcher::Launcher(unsigned places) : places_(has_descriptors() ? std::max(places, 1U) : 0) {
  if (places_.empty()) return;
  nothing_.reset(checked(::open("/dev/null", O_RDWR | O_CLOEXEC)));
  if (nothing_.get() < 3) nothing_.reset(checked(::fcntl(nothing_.get(), F_DUPFD_CLOEXEC, 3)));
  const auto take = [this] { return util::UniqueFd(checked(::fcntl(nothing_.get(), F_DUPFD_CLOEXEC, 3))); };
  auto last = static_cast<unsigned>(nothing_.get());
  for (auto& place : places_) {
    for (auto& fd : place.fds) {
      fd = take();
      last = std::max(last, static_cast<unsigned>(fd.get()));
    }
    free_.push_back(&place);
  }
  first_foreign_ = (last / kTableStep + 1) * kTableStep;
  for (auto fd = take(); static_cast<unsigned>(fd.get()) < first_foreign_; fd = take()) {
    fillers_.push_back(std::move(fd));
  }
}

Launcher::~Launcher() {
  end();
}

wire::Expected<Launched, LaunchFailure> Launcher::launch(const LaunchPlan& plan, LaunchTicket& ticket) {
  const auto failed = [](Step step, int os_error) { return wire::Unexpected(LaunchFailure{step, os_error}); };
  if (places_.empty()) return failed(Step::descriptors, EMFILE);
  if (!can_become(plan.confinement.get())) return failed(Step::user, EINVAL);
  const auto arguments = pointers(plan.arguments);
  const auto environment = pointers(plan.environment);
  LaunchOrders orders{.program = plan.program.c_str(),
                      .arguments = arguments.data(),
                      .environment = environment.data(),
                      .folder = plan.folder.c_str(),
                      .confinement = plan.confinement.get(),
                      .cancelled = &ticket.cancelled_,
                      .first_foreign = first_foreign_};
  const Registered registered(*this, ticket);
  Ends ends;
  pid_t pid = -1;
  int os_error = 0;
  {
    Held held(*this);
    if (!held || ticket.killed()) return failed(Step::prepare, ECANCELED);
    const bool opened = (plan.input == Input::none || ends.open(0, true)) && ends.open(1, false) && ends.open(2, false);
    if (!opened) return failed(Step::prepare, errno);
    for (std::size_t i = 0; i < 3; ++i) {
      if (!held.put(orders, i, ends.far[i])) return failed(Step::prepare, errno);
    }
    pid = start_child(orders, &ticket.watch_);
    os_error = errno;
  }
  {
    const std::lock_guard guard(ticket.lock_);
    ticket.over_ = true;
  }
  if (pid < 0) return failed(Step::prepare, os_error);
  Launched launched{.pid = pid,
                    .watch = util::UniqueFd(ticket.watch_),
                    .input = std::move(ends.near[0]),
                    .output = std::move(ends.near[1]),
                    .errors = std::move(ends.near[2])};
  if (orders.os_error != 0) {
    ::waitpid(pid, nullptr, 0);  // it is past its last step
    return failed(orders.step, orders.os_error);
  }
  if (ticket.killed()) signal_group(pid, SIGKILL);
  if (note_alive(pid)) return launched;
  // The end came first.
  signal_group(pid, SIGKILL);
  wait_until(std::chrono::steady_clock::now() + kEndPatience, pid);
  return failed(Step::prepare, ECANCELED);
}

bool Launcher::note_alive(pid_t pid) {
  const std::lock_guard guard(lock_);
  if (!ended_) alive_.push_back(pid);
  return !ended_;
}

void Launcher::note_gone(pid_t pid) noexcept {
  const std::lock_guard guard(lock_);
  const auto found = std::find(alive_.begin(), alive_.end(), pid);
  if (found == alive_.end()) return;
  *found = alive_.back();
  alive_.pop_back();
}

void Launcher::adopt(Ward& ward) {
  const std::lock_guard guard(lock_);
  wards_.push_back(&ward);
}

void Launcher::release(Ward& ward) noexcept {
  const std::lock_guard guard(lock_);
  std::erase(wards_, &ward);
}

void Launcher::end() noexcept {
  std::vector<pid_t> left;
  std::vector<Ward*> wards;
  {
    const std::lock_guard guard(lock_);
    ended_ = true;
    left.swap(alive_);
    wards.swap(wards_);
    for (LaunchTicket* ticket : tickets_) ticket->kill();
  }
  place_freed_.notify_all();
  for (const pid_t pid : left) signal_group(pid, SIGKILL);
  for (Ward* ward : wards) delete ward;
  const SteadyTime until = std::chrono::steady_clock::now() + kEndPatience;
  for (const pid_t pid : left) wait_until(until, pid);
}

bool Launcher::ended() const noexcept {
  const std::lock_guard guard(lock_);
  return ended_;
}

}  // namespace pontage::upstream
