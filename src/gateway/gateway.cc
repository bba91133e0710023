#include "src/gateway/gateway.h"

#include <chrono>
#include <csignal>

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/gateway/notify.h"
#include "src/observe/collectable.h"
#include "src/observe/log.h"

namespace pontage::gateway {

namespace log = observe::log;
using observe::Family;

namespace {

constexpr unsigned kBlockingThreads = 4;
constexpr unsigned kLaunchThreads = 4;
// Of descriptors from outside: above what the launcher keeps, which wants the small numbers for itself.
constexpr int kLowestKept = 512;

// Many clients need many descriptors; the soft limit is only a default.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int move_up(int fd) {
  if (fd < 0 || fd >= kLowestKept) return fd;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, kLowestKept);
  if (moved < 0) return fd;
  ::close(fd);
  return moved;
}

// Before anything keeps descriptors. What `ready_fd` is afterwards.
int prepare_descriptors(int ready_fd) {
  raise_descriptor_limit();
  return move_up(ready_fd);
}

}  // namespace

Gateway::Gateway(config::Config config, std::string file, int ready_fd)
    : config_(std::move(config)),
      file_(std::move(file)),
      ready_fd_(prepare_descriptors(ready_fd)),
      inherited_(InheritedSockets::take(kLowestKept)),
      signals_(loop_, SIGTERM, SIGINT, SIGHUP),
      timer_(loop_),
      launcher_(kLaunchThreads),
      exposition_(metrics_, PONTAGE_VERSION),
      session_series_(metrics_),
      listener_book_(metrics_),
      file_events_(loop_),
      blocking_(kBlockingThreads),
      launches_(kLaunchThreads),
      admin_(loop_, {.metrics = [this] { return exposition_.render_text(); },
                     .ready = [this] { return state_ == State::serving; }}) {
  signals_.add(SIGQUIT);
  signals_.add(SIGUSR1);
}

Gateway::~Gateway() = default;

int Gateway::run() {
  std::string error;
  if (!start(error)) {
    log::error("{}", error);
    for (auto& worker : workers_) worker->stop_and_join();
    return kExitFailure;
  }
  loop_.run();
  return kExitOk;
}

bool Gateway::start(std::string& error) {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);  // ignored, as it may be inherited, it would take the scripts' ends from us
  util::calibrate_cycles();
  if (const auto opened = access_log_.configure(config_.access_log.format, config_.access_log.file); !opened) {
    error = "cannot open the access log " + config_.access_log.file + ": " + ::strerrordesc_np(opened.error().os_error);
    return false;
  }
  files_ = std::make_shared<FileStore>(config_.static_cache);
  // A copy of the descriptor, because Asio closes what it is given.
  const int events = ::fcntl(files_->watcher.descriptor(), F_DUPFD_CLOEXEC, 0);
  if (events >= 0) file_events_.assign(events);
  const unsigned count = config_.workers > 0 ? static_cast<unsigned>(config_.workers) : default_workers();
  std::vector<net::Reactor*> reactors;
  for (unsigned id = 0; id < count; ++id) {
    workers_.push_back(
        std::make_unique<Worker>(id, metrics_, session_series_, access_log_.add_ring(), connections_, blocking_));
    reactors.push_back(&workers_.back()->reactor());
  }
  registry_ = std::make_unique<upstream::Registry>(std::move(reactors), metrics_, resolver_);
  std::vector<OpenedListener> opened;
  if (!open_listeners(config_, opened, error)) return false;
  const auto settings = listener_book_.make(config_);  // as who may read the keys
  if (!settings) {
    error = settings.error().message;
    return false;
  }
  if (!config_.admin.empty() && !admin_.listen(config_.admin, error)) return false;
  if (!config_.control.empty()) {
    control_ = std::make_unique<admin::ControlSocket>(loop_, [this](std::string_view verb) { return command(verb); });
    if (!control_->listen(config_.control, error)) return false;
  }
  if (!become_user(config_.user, error)) return false;
  callbacks_.push_back(
      metrics_.callback_gauge(Family::config_last_reload_success, {}, [this] { return last_reload_success_; }));
  callbacks_.push_back(
      metrics_.callback_counter(Family::config_reloads_total, {"ok"}, [this] { return double(reloads_ok_); }));
  callbacks_.push_back(
      metrics_.callback_counter(Family::config_reloads_total, {"failed"}, [this] { return double(reloads_failed_); }));
  callbacks_.push_back(metrics_.callback_counter(Family::log_dropped_total, {},
                                                 [this] { return double(access_log_.dropped() + log::dropped()); }));
  install_site(config_);
  for (auto& worker : workers_) worker->start();
  install_listeners(std::move(opened), *settings);
  state_ = State::serving;
  announce();
  wait_for_signals();
  wait_for_file_events();
  return true;
}

bool Gateway::open_listeners(const config::Config& config, std::vector<OpenedListener>& opened, std::string& error) {
  for (const auto& listener : config.listeners) {
    if (listening_.contains(listener.bind)) continue;
    opened.emplace_back();
    if (!open_listener(listener, workers_.size(), inherited_, opened.back(), error)) return false;
  }
  return true;
}

void Gateway::install_listeners(std::vector<OpenedListener> opened, const SettingsByBind& settings) {
  for (const auto& [bind, made] : settings) {
    if (!listening_.contains(bind)) continue;
    for (auto& worker : workers_) worker->change_listener(bind, made);
  }
  for (auto& listener : opened) {
    const std::string& bind = listener.config.bind;
    const bool dealt = listener.sharing == OpenedListener::Sharing::dealt;
    Worker::HandOver hand_over;
    if (dealt && workers_.size() > 1) {
      hand_over = [this](const SettingsPtr& made, util::UniqueFd fd, const net::Address& peer) {
        deal(made, std::move(fd), peer);
      };
    }
    for (std::size_t i = 0; i < listener.sockets.size(); ++i) {
      workers_[dealt ? 0 : i]->open_listener(bind, settings.at(bind), std::move(listener.sockets[i]), hand_over);
    }
    listening_[bind] = listener.address;
    log::info("listening on {}", listener.address);
  }
  listener_book_.install(settings);
}

// On worker 0's thread: one socket's connections go round.
void Gateway::deal(const SettingsPtr& settings, util::UniqueFd fd, const net::Address& peer) {
  workers_[next_worker_++ % workers_.size()]->adopt(settings, std::move(fd), peer);
}

void Gateway::close_unnamed_listeners(const config::Config& config) {
  for (auto at = listening_.begin(); at != listening_.end();) {
    const bool named = std::any_of(config.listeners.begin(), config.listeners.end(),
                                   [&](const auto& l) { return l.bind == at->first; });
    if (named) {
      ++at;
      continue;
    }
    for (auto& worker : workers_) worker->close_listener(at->first);
    log::info("no longer listening on {}", at->second);
    at = listening_.erase(at);
  }
}

bool become_user(const std::string& user, std::string& error) {
  if (user.empty() || ::geteuid() != 0) return true;
  const passwd* entry = ::getpwnam(user.c_str());
  if (entry == nullptr) {
    error = "user: there is no user " + user;
    return false;
  }
  if (::initgroups(user.c_str(), entry->pw_gid) != 0 || ::setgid(entry->pw_gid) != 0 || ::setuid(entry->pw_uid) != 0) {
    error = "user: cannot become " + user;
    return false;
  }
  return true;
}

void Gateway::announce() {
  std::string text = "ready\n";
  for (const auto& [bind, address] : listening_) text += "listener " + bind + " " + address + "\n";
  if (!admin_.address().empty()) text += "admin " + admin_.address() + "\n";
  tell_ready(ready_fd_, text);
  notify_service_manager("READY=1");
  log::info("ready with {} workers", workers_.size());
}

void Gateway::install_site(const config::Config& config) {
  const auto site = build_site(config, {*registry_, metrics_, files_, blocking_, launches_, launcher_}, ++generation_);
  connections_.limit.store(config.limits.connections);
  for (auto& worker : workers_) worker->set_site(site);
  sites_.emplace_back(generation_, site);
  limit_generations();
}

// A slow exchange keeps its generation alive; too many of them would pile up (USERS 2, row 12).
void Gateway::limit_generations() {
  constexpr std::size_t kMostGenerations = 4;
  std::erase_if(sites_, [](const auto& site) { return site.second.expired(); });
  if (sites_.size() <= kMostGenerations) return;
  const std::uint64_t oldest = sites_[sites_.size() - kMostGenerations].first;
  log::warn("{} generations of the configuration are in use; closing what began before generation {}", sites_.size(),
            oldest);
  for (auto& worker : workers_) worker->cancel_older_than(oldest);
}

}  // namespace pontage::gateway
