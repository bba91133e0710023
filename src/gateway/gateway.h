// Gateway: the whole process. Owns the workers and everything they share, reacts to signals and control verbs, swaps
// configurations and drains. Lives on the control (main) thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/admin/admin_server.h"
#include "src/admin/asio.h"
#include "src/admin/control_socket.h"
#include "src/gateway/listeners.h"
#include "src/gateway/site_builder.h"
#include "src/gateway/worker.h"
#include "src/net/resolver.h"
#include "src/observe/access_log.h"
#include "src/observe/collectable.h"

namespace pontage::gateway {

// Exit codes of the program (DESIGN "Command line").
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnfit = 69;  // a server of the configuration fails its probe
inline constexpr int kExitConfig = 78;

class Gateway {
 public:
  // `config` was checked and read from `file`, which reload() reads again.
  Gateway(config::Config config, std::string file, int ready_fd);
  ~Gateway();

  // Serves until told to stop; the exit code.
  int run();

 private:
  enum class State : std::uint8_t { starting, serving, draining, ended };

  bool start(std::string& error);
  bool open_listeners(const config::Config& config, std::vector<OpenedListener>& opened, std::string& error);
  // New sockets get their settings, and those that are kept get new ones.
  void install_listeners(std::vector<OpenedListener> opened, const SettingsByBind& settings);
  void close_unnamed_listeners(const config::Config& config);
  void deal(const SettingsPtr& settings, util::UniqueFd fd, const net::Address& peer);
  void announce();

  admin::ControlAnswer reload();
  std::string restart_hints(const config::Config& next) const;
  void install_site(const config::Config& config);
  void limit_generations();

  void wait_for_signals();
  void wait_for_file_events();
  void on_signal(int signal);
  void begin_drain();
  void drain_sessions();
  void finish();
  admin::ControlAnswer command(std::string_view verb);
  std::string status_json() const;

  config::Config config_;
  std::string file_;
  int ready_fd_;
  InheritedSockets inherited_;
  State state_ = State::starting;
  admin::asio::io_context loop_{1};
  admin::asio::signal_set signals_;
  admin::asio::steady_timer timer_;

  upstream::Launcher launcher_;  // early: it keeps descriptors with small numbers
  observe::Metrics metrics_;
  observe::Collectable exposition_;
  observe::AccessLog access_log_;
  frontend::SessionSeries session_series_;
  ListenerBook listener_book_;
  ConnectionCount connections_;
  std::vector<std::unique_ptr<Worker>> workers_;
  net::Resolver resolver_;
  std::unique_ptr<upstream::Registry> registry_;
  std::shared_ptr<FileStore> files_;
  admin::asio::posix::stream_descriptor file_events_;
  std::uint64_t file_overflows_ = 0;
  bool unwatched_told_ = false;
  net::BlockingPool blocking_;  // for files
  net::BlockingPool launches_;  // for the start of processes, which may hang
  std::uint64_t generation_ = 0;
  std::vector<std::pair<std::uint64_t, std::weak_ptr<const routing::Site>>> sites_;
  std::map<std::string, std::string> listening_;  // bind text -> address
  std::size_t next_worker_ = 0;                   // for dealt connections; worker 0's thread only
  std::size_t workers_with_sessions_ = 0;

  admin::AdminServer admin_;
  std::unique_ptr<admin::ControlSocket> control_;
  std::vector<observe::Metrics::Callback> callbacks_;
  double last_reload_success_ = 1;
  std::uint64_t reloads_ok_ = 0;
  std::uint64_t reloads_failed_ = 0;
};

// Drops root's rights for those of `user`; nothing happens when that is empty, or we are not root.
bool become_user(const std::string& user, std::string& error);

// The number of workers for `workers: auto`: CPUs of the affinity mask, within the cgroup's quota.
unsigned default_workers();

}  // namespace pontage::gateway
