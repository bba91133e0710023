// Signals, reload, drain and the control verbs: what happens to a gateway that runs.
#include <algorithm>
#include <chrono>
#include <csignal>

#include <nlohmann/json.hpp>

#include "src/config/load.h"
#include "src/gateway/gateway.h"
#include "src/gateway/notify.h"
#include "src/net/tls_check.h"
#include "src/observe/log.h"
#include "src/routing/check.h"

namespace pontage::gateway {

namespace log = observe::log;

void Gateway::wait_for_signals() {
  signals_.async_wait([this](boost::system::error_code failed, int signal) {
    if (failed) return;
    on_signal(signal);
    if (state_ != State::ended) wait_for_signals();
  });
}

// Without notifications, files are looked at again after static_cache.recheck alone.
void Gateway::wait_for_file_events() {
  if (!file_events_.is_open()) return;
  file_events_.async_wait(admin::asio::posix::stream_descriptor::wait_read, [this](boost::system::error_code failed) {
    if (failed) return;
    files_->watcher.drain(files_->files);
    const auto counts = files_->watcher.counts();
    if (counts.overflows != file_overflows_) {
      file_overflows_ = counts.overflows;
      log::warn("more files changed than the kernel could tell: all of them are looked at again");
    }
    if (counts.unwatched > 0 && !unwatched_told_) {
      unwatched_told_ = true;
      log::warn(
          "some directories cannot be watched (fs.inotify.max_user_watches?): changes there are seen after "
          "static_cache.recheck");
    }
    wait_for_file_events();
  });
}

void Gateway::on_signal(int signal) {
  switch (signal) {
    case SIGHUP: {
      notify_service_manager("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(util::monotonic_ns() / 1000));
      reload();
      notify_service_manager("READY=1");
      return;
    }
    case SIGUSR1: access_log_.reopen(); return;
    default: break;
  }
  if (state_ == State::serving) {
    begin_drain();
  } else {
    log::warn("told to stop again: stopping now");
    finish();
  }
}

admin::ControlAnswer Gateway::reload() {
  if (state_ != State::serving) return {kExitFailure, "not serving: nothing is reloaded\n"};
  auto loaded = config::load_file(file_);
  if (loaded.ok()) routing::check(loaded.config, loaded.problems);
  if (loaded.ok()) net::check_tls(loaded.config, loaded.problems);
  std::string error = loaded.ok() ? std::string() : config::render(loaded);
  // The files may have changed since the check a moment ago.
  SettingsByBind settings;
  if (error.empty()) {
    auto made = listener_book_.make(loaded.config);
    if (made) settings = *std::move(made);
    if (!made) error = made.error().message + "\n";
  }
  std::vector<OpenedListener> opened;
  if (error.empty() && !open_listeners(loaded.config, opened, error)) error += "\n";
  if (!error.empty()) {
    last_reload_success_ = 0;
    ++reloads_failed_;
    log::error("reload refused, the old configuration stays:\n{}", error);
    return {kExitConfig, error};
  }
  const std::string hints = restart_hints(loaded.config);
  if (!hints.empty()) log::warn("{}", hints);
  if (const auto done = access_log_.configure(loaded.config.access_log.format, loaded.config.access_log.file); !done) {
    log::error("cannot open the access log {}; the old one stays", loaded.config.access_log.file);
  }
  install_site(loaded.config);
  registry_->retire_unnamed();
  install_listeners(std::move(opened), settings);
  close_unnamed_listeners(loaded.config);
  config_ = std::move(loaded.config);
  last_reload_success_ = 1;
  ++reloads_ok_;
  log::info("reloaded {}", file_);
  return {kExitOk, hints.empty() ? "reloaded\n" : "reloaded; " + hints + "\n"};
}

std::string Gateway::restart_hints(const config::Config& next) const {
  std::string names;
  auto note = [&](bool changed, const char* name) {
    if (changed) names += (names.empty() ? "" : ", ") + std::string(name);
  };
  note(next.workers != config_.workers, "workers");
  note(next.user != config_.user, "user");
  note(next.control != config_.control, "control");
  note(next.admin != config_.admin, "admin");
  note(next.static_cache.memory != config_.static_cache.memory ||
           next.static_cache.max_file != config_.static_cache.max_file ||
           next.static_cache.recheck != config_.static_cache.recheck,
       "static_cache");
  return names.empty() ? names : "needs a restart to take effect: " + names;
}

// Readiness goes first, so that load balancers turn away before the listeners close.
void Gateway::begin_drain() {
  state_ = State::draining;
  notify_service_manager("STOPPING=1");
  log::info("draining, at most {} ms", config_.shutdown.deadline.count());
  timer_.expires_after(config_.shutdown.delay);
  timer_.async_wait([this](boost::system::error_code failed) {
    if (!failed && state_ == State::draining) drain_sessions();
  });
}

void Gateway::drain_sessions() {
  workers_with_sessions_ = workers_.size();
  for (auto& worker : workers_) {
    worker->close_all_listeners();
    worker->drain([this] {
      admin::asio::post(loop_, [this] {
        if (workers_with_sessions_ > 0 && --workers_with_sessions_ == 0) finish();
      });
    });
  }
  timer_.expires_after(config_.shutdown.deadline);
  timer_.async_wait([this](boost::system::error_code failed) {
    if (failed || state_ != State::draining) return;
    log::warn("the drain deadline has passed: {} connections are cut", connections_.open.load());
    for (auto& worker : workers_) worker->cancel_all();
    timer_.expires_after(std::chrono::seconds(1));
    timer_.async_wait([this](boost::system::error_code) { finish(); });
  });
}

void Gateway::finish() {
  if (state_ == State::ended) return;
  state_ = State::ended;
  for (auto& worker : workers_) {
    worker->close_all_listeners();
    worker->cancel_all();
  }
  registry_->retire_all();
  for (auto& worker : workers_) worker->stop_and_join();
  launcher_.end();
  access_log_.stop();
  control_.reset();
  admin_.close();
  timer_.cancel();
  signals_.cancel();
  loop_.stop();
  log::info("stopped");
}

admin::ControlAnswer Gateway::command(std::string_view verb) {
  if (verb == "reload") return reload();
  if (verb == "status") return {kExitOk, status_json() + "\n"};
  if (verb == "stop") {
    if (state_ == State::serving) begin_drain();
    return {kExitOk, "draining\n"};
  }
  if (verb == "stop now") {
    admin::asio::post(loop_, [this] { finish(); });
    return {kExitOk, "stopping\n"};
  }
  return {kExitUsage, "unknown verb\n"};
}

std::string Gateway::status_json() const {
  nlohmann::json status;
  status["state"] = state_ == State::serving ? "serving" : state_ == State::draining ? "draining" : "starting";
  status["config"] = file_;
  status["generation"] = generation_;
  status["workers"] = workers_.size();
  status["connections"] = connections_.open.load();
  status["listeners"] = listening_;
  status["admin"] = admin_.address();
  status["last_reload_success"] = last_reload_success_ != 0;
  return status.dump(2);
}

}  // namespace pontage::gateway
