// What the cgi handler has done on the blocking pool: the script is found and started in one go, so that a request
// costs one trip there. CgiPolicy is a route's settings, made ready on the control thread; the jobs own or share all
// they use.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "protocols/cgi/variables.h"
#include "src/handlers/cgi_script.h"
#include "src/upstream/process.h"
#include "src/util/error.h"

namespace pontage::handlers {

struct CgiPolicy {
  config::CgiAction action;
  config::CgiMapping mapping;  // for the variables
  std::string mount;           // the path that stands for the root; empty: none does
  std::string environment;     // of every script: NAME=VALUE, each ended by NUL
  std::shared_ptr<const upstream::Confinement> confinement;
  upstream::ProcessPatience patience;
  upstream::ProcessSeries series;
};

// `route_path`: what stands for the root when the action names nothing. Errors are logged, and met again by launches.
std::shared_ptr<const CgiPolicy> make_cgi_policy(const config::CgiAction& action, std::string_view route_path,
                                                 const upstream::ProcessSeries& series);

// The environment as far as the request knows it: all but SCRIPT_NAME, SCRIPT_FILENAME, PATH_INFO and PATH_TRANSLATED.
std::string make_environment(const CgiPolicy& policy, const cgi::VariableList& variables);
// What the kernel takes for one string, and what we take for all.
inline constexpr std::size_t kMostVariable = 128 * 1024 - 1;
inline constexpr std::size_t kMostEnvironment = 1024 * 1024;

// A process that was started for somebody, and its place; when nobody takes it, it is killed. The reactor's thread, or
// after its end.
class Started {
 public:
  Started(net::Reactor& reactor, upstream::Launcher& launcher, upstream::Launched launched,
          upstream::Process::About about, upstream::Place place)
      : reactor_(&reactor),
        launcher_(&launcher),
        launched_(std::move(launched)),
        about_(std::move(about)),
        place_(std::move(place)) {}
  Started(Started&& other) noexcept
      : reactor_(other.reactor_),
        launcher_(other.launcher_),
        launched_(std::move(other.launched_)),
        about_(std::move(other.about_)),
        place_(std::move(other.place_)) {
    other.launched_.pid = -1;
  }
  Started& operator=(Started&&) = delete;
  ~Started();

  upstream::Launched& pipes() noexcept { return launched_; }
  std::unique_ptr<upstream::Process> take_process();
  upstream::Place& place() noexcept { return place_; }

 private:
  net::Reactor* reactor_;
  upstream::Launcher* launcher_;
  upstream::Launched launched_;
  upstream::Process::About about_;
  upstream::Place place_;
};

using Launch = wire::Expected<Started, ScriptRefusal>;

struct LaunchJob {
  std::shared_ptr<const CgiPolicy> policy;
  std::string path;   // decoded, below the root
  std::string mount;  // "" when the path is not below policy->mount
  std::string environment;
  upstream::Input input;
  upstream::Launcher* launcher;
  std::shared_ptr<upstream::LaunchTicket> ticket;
  net::Reactor* reactor;
  upstream::Process::About about;
  upstream::Place place;

  // Once.
  util::Result<Launch> operator()();
};

}  // namespace pontage::handlers
