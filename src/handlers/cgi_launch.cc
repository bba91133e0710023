#include "src/handlers/cgi_launch.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "src/observe/log.h"
#include "src/upstream/server.h"

namespace pontage::handlers {

using upstream::Confinement;
using upstream::LaunchFailure;
using util::ErrorKind;
using util::Source;

namespace {

void append(std::string& block, std::string_view name, std::string_view value) {
  block.append(name).append(1, '=').append(value).append(1, '\0');
}

bool is_param(const config::CgiAction& action, std::string_view name) {
  return std::any_of(action.params.begin(), action.params.end(), [&](const auto& p) { return p.name == name; });
}

std::string fixed_environment(const config::CgiAction& action) {
  std::string block;
  bool has_path = is_param(action, "PATH");
  for (const auto& name : action.pass_env) {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || is_param(action, name)) continue;
    append(block, name, value);
    has_path = has_path || name == "PATH";
  }
  if (!has_path) append(block, "PATH", "/usr/local/bin:/usr/bin:/bin");
  return block;
}

void limit(Confinement& confinement, int resource, std::uint64_t most) {
  rlimit held{};
  ::getrlimit(static_cast<__rlimit_resource>(resource), &held);
  const rlim_t value = std::min<rlim_t>(most, held.rlim_max);
  confinement.limits.emplace_back(resource, rlimit{value, value});
}

// Nobody to become when the gateway is that user already.
std::optional<Confinement::Identity> identity_of(const std::string& user) {
  if (user.empty()) return std::nullopt;
  const passwd* entry = ::getpwnam(user.c_str());
  if (entry == nullptr) {
    observe::log::error("there is no user {}: scripts that should run as it will fail", user);
    return Confinement::Identity{.user = ~uid_t{0}, .group = ~gid_t{0}, .groups = {}};
  }
  if (entry->pw_uid == ::geteuid() && entry->pw_uid != 0) return std::nullopt;
  Confinement::Identity who{.user = entry->pw_uid, .group = entry->pw_gid, .groups = {}};
  int count = 64;
  who.groups.resize(static_cast<std::size_t>(count));
  while (::getgrouplist(user.c_str(), entry->pw_gid, who.groups.data(), &count) < 0) {
    who.groups.resize(static_cast<std::size_t>(count));
  }
  who.groups.resize(static_cast<std::size_t>(count));
  return who;
}

std::shared_ptr<const Confinement> confinement_of(const config::CgiAction& action) {
  auto made = std::make_shared<Confinement>();
  made->identity = identity_of(action.user);
  const auto& limits = action.limits;
  limit(*made, RLIMIT_NOFILE, static_cast<std::uint64_t>(limits.files));
  limit(*made, RLIMIT_CORE, 0);
  if (limits.cpu.count() > 0) limit(*made, RLIMIT_CPU, static_cast<std::uint64_t>(limits.cpu.count()) / 1000);
  if (limits.memory > 0) limit(*made, RLIMIT_AS, limits.memory);
  if (limits.file_size > 0) limit(*made, RLIMIT_FSIZE, limits.file_size);
  if (limits.processes > 0) limit(*made, RLIMIT_NPROC, static_cast<std::uint64_t>(limits.processes));
  return made;
}

// The route's path is where the folder is found when it says nothing else: "/cgi-bin" of "/cgi-bin/*".
std::string mount_of(const config::CgiAction& action, std::string_view route_path) {
  if (action.script_name) return *action.script_name;
  if (route_path.starts_with('~') || !route_path.ends_with("/*")) return {};
  return std::string(route_path.substr(0, route_path.size() - 2));
}

bool is_shortage(int os_error) noexcept {
  return os_error == EAGAIN || os_error == ENOMEM || os_error == EMFILE || os_error == ENFILE ||
         os_error == ECANCELED || os_error == ETXTBSY;
}

util::Result<Launch> failed_launch(const LaunchFailure& failure, const upstream::Process::About& about) {
  using Step = LaunchFailure::Step;
  observe::log::warn_limited("cgi-launch " + about.server->backend(), "{}: {}: cannot {}: {}", about.server->backend(),
                             about.script, to_string(failure.step), std::strerror(failure.os_error));
  const bool at_program = failure.step == Step::program;
  if (at_program && (failure.os_error == EACCES || failure.os_error == EPERM)) {
    return Launch(wire::Unexpected(ScriptRefusal::forbidden));
  }
  if (at_program && failure.os_error == E2BIG) return util::fail(ErrorKind::limit, Source::gateway, "variables");
  if (is_shortage(failure.os_error)) {
    return util::fail(ErrorKind::overload, Source::gateway, "processes", failure.os_error);
  }
  return util::fail(ErrorKind::io, Source::server, "launch", failure.os_error);
}

}  // namespace

std::shared_ptr<const CgiPolicy> make_cgi_policy(const config::CgiAction& action, std::string_view route_path,
                                                 const upstream::ProcessSeries& series) {
  auto policy = std::make_shared<CgiPolicy>();
  policy->action = action;
  policy->mapping.document_root = action.root;
  policy->mapping.params = action.params;
  policy->mapping.underscored = action.underscored;
  policy->mapping.authorization = action.authorization;
  policy->mount = mount_of(action, route_path);
  policy->environment = fixed_environment(action);
  policy->confinement = confinement_of(action);
  policy->patience = {.total = config::ms(action.timeouts.total),
                      .after = config::ms(action.timeouts.idle),
                      .kill = config::ms(action.timeouts.kill)};
  policy->series = series;
  return policy;
}

std::string make_environment(const CgiPolicy& policy, const cgi::VariableList& variables) {
  std::string block;
  block.reserve(policy.environment.size() + variables.bytes() + 2 * variables.size() + 512);
  block = policy.environment;
  for (const auto& variable : variables) {
    // A request without a body has no length (ADAPTERS E2); the script's own are known once it is found.
    if (variable.name == "CONTENT_LENGTH" && variable.value == "0") continue;
    if (variable.name == "SCRIPT_NAME") continue;
    append(block, variable.name, variable.value);
  }
  return block;
}

Started::~Started() {
  // At the gateway's end the launcher has seen to it.
  if (launched_.pid > 0 && !launcher_->ended()) {
    upstream::Process::discard(*reactor_, *launcher_, launched_, std::move(about_), std::move(place_));
  }
}

std::unique_ptr<upstream::Process> Started::take_process() {
  return std::make_unique<upstream::Process>(*reactor_, *launcher_, launched_, std::move(about_));
}

util::Result<Launch> LaunchJob::operator()() {
  // Whatever comes of it, the place is free or with the process when the result is told.
  upstream::Place taken = std::move(place);
  if (ticket->killed()) return util::fail(ErrorKind::cancelled, Source::gateway, "launch");
  auto script = find_script_file(policy->action, path);
  if (!script) return Launch(wire::Unexpected(script.error()));
  const std::string& root = policy->action.root;
  const std::string file = root + "/" + script->name;
  const std::string_view info = std::string_view(path).substr(std::min(script->info_at, path.size()));
  append(environment, "SCRIPT_NAME", mount + "/" + script->name);
  append(environment, "SCRIPT_FILENAME", file);
  if (!info.empty()) {
    append(environment, "PATH_INFO", info);
    append(environment, "PATH_TRANSLATED", root + std::string(info));
  }
  about.script = file;
  upstream::LaunchPlan plan{.program = file,
                            .arguments = {file},
                            .folder = file.substr(0, file.rfind('/')),
                            .environment = std::move(environment),
                            .confinement = policy->confinement,
                            .input = input};
  if (!script->interpreter.empty()) {
    plan.program = script->interpreter;
    plan.arguments = {script->interpreter, file};
  }
  auto launched = launcher->launch(plan, *ticket);
  if (!launched && ticket->killed()) return util::fail(ErrorKind::cancelled, Source::gateway, "launch");
  if (!launched) return failed_launch(launched.error(), about);
  return Launch(Started(*reactor, *launcher, std::move(*launched), std::move(about), std::move(taken)));
}

}  // namespace pontage::handlers
