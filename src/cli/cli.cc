#include "src/cli/cli.h"

#include <cstdio>
#include <iostream>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "src/config/load.h"
#include "src/gateway/gateway.h"
#include "src/net/tls_check.h"
#include "src/observe/log.h"
#include "src/origin/options.h"
#include "src/origin/origin.h"
#include "src/probe/probe.h"
#include "src/routing/check.h"

namespace pontage::cli {
namespace {

using gateway::kExitConfig;
using gateway::kExitFailure;
using gateway::kExitOk;
using gateway::kExitUnfit;
using gateway::kExitUsage;

constexpr int kControlPatience = 60;  // seconds

config::Loaded load(const std::string& file) {
  auto loaded = config::load_file(file);
  if (loaded.ok()) routing::check(loaded.config, loaded.problems);
  if (loaded.ok()) net::check_tls(loaded.config, loaded.problems);
  return loaded;
}

// `options`: the servers are probed, too.
int check(const std::string& file, const probe::Options* options) {
  const auto loaded = load(file);
  std::cerr << config::render(loaded);
  if (!loaded.ok()) return kExitConfig;
  std::cout << file << ": configuration is fine" << std::endl;
  if (options == nullptr) return kExitOk;
  // As the gateway would: a socket that root may open says nothing.
  std::string error;
  if (!gateway::become_user(loaded.config.user, error)) {
    std::cerr << file << ": error: " << error << "\n";
    return kExitConfig;
  }
  const auto verdict = probe::probe(loaded.config, *options, std::cout, std::cerr);
  return verdict == probe::Verdict::failed ? kExitUnfit : kExitOk;
}

// What `check` may be told about probing. Seconds in the command line, for people.
struct ProbeWords {
  bool wanted = false;
  double idle = 6;
  probe::Options options;

  void add_to(CLI::App& verb) {
    auto* flag = verb.add_flag("--probe", wanted, "ask every server, and say what is wrong with it");
    verb.add_option("--path", options.path, "the path that servers are asked for; else the first route's")
        ->needs(flag)
        ->check([](const std::string& path) {
          const bool fine = path.starts_with('/') && message::parse_target(path, message::Method::head).has_value();
          return fine ? std::string() : "a path begins with `/`, and is percent-encoded";
        });
    verb.add_option("--idle", idle, "seconds that a kept connection is watched for the server closing it")
        ->needs(flag)
        ->check(CLI::Range(0, 600))
        ->capture_default_str();
    verb.add_flag("--pool", options.open_pool, "AJP: open as many connections as `connections.max` allows")
        ->needs(flag);
  }
  const probe::Options* get() {
    options.idle_ms = static_cast<std::uint64_t>(idle * 1000);
    return wanted ? &options : nullptr;
  }
};

int serve(const std::string& file, int ready_fd) {
  auto loaded = load(file);
  std::cerr << config::render(loaded);
  if (!loaded.ok()) return kExitConfig;
  observe::log::start();
  int code = kExitFailure;
  {
    gateway::Gateway gateway(std::move(loaded.config), file, ready_fd);
    code = gateway.run();
  }
  observe::log::stop();
  return code;
}

// reload, stop and status ask the running process through its control socket.
int ask(const std::string& file, const std::string& verb) {
  const auto loaded = config::load_file(file);
  std::string path = loaded.config.control;
  if (path.empty() && !loaded.ok()) {
    std::cerr << config::render(loaded);
    return kExitConfig;
  }
  if (path.empty()) {
    std::cerr << file << ": `control: PATH` is not set, so there is no socket to ask; send SIGHUP or SIGTERM instead\n";
    return kExitUsage;
  }
  const auto answer = admin::ask_control(path, verb, kControlPatience);
  (answer.exit_code == kExitOk ? std::cout : std::cerr) << answer.text;
  return answer.exit_code;
}

int status(const std::string& file, bool json) {
  if (json) return ask(file, "status");
  const auto loaded = config::load_file(file);
  if (loaded.config.control.empty()) return ask(file, "status");
  const auto answer = admin::ask_control(loaded.config.control, "status", kControlPatience);
  if (answer.exit_code != kExitOk) {
    std::cerr << answer.text;
    return answer.exit_code;
  }
  const auto parsed = nlohmann::json::parse(answer.text, nullptr, false);
  for (const auto& [key, value] : parsed.items()) {
    std::cout << key << ": " << (value.is_string() ? value.get<std::string>() : value.dump()) << "\n";
  }
  return kExitOk;
}

// A socket or file that got the number of a standard stream would get what is written to that.
void open_standard_streams() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDWR);
  if (fd >= 0) ::close(fd);
}

}  // namespace

int run(int argc, char** argv) {
  open_standard_streams();
  CLI::App app{"pontage: a front tier for application servers"};
  app.require_subcommand(0, 1);
  std::string file = "/etc/pontage/pontage.yaml";
  int ready_fd = -1;
  bool json = false;
  bool now = false;
  bool test = false;
  origin::OriginOptions origin_options;
  auto with_file = [&](CLI::App* verb) {
    verb->add_option("-c,--config", file, "configuration file")->capture_default_str();
    return verb;
  };
  with_file(&app);
  app.add_flag("-t", test, "the same as `check`");
  auto* run_verb = with_file(app.add_subcommand("run", "serve until told to stop"));
  run_verb->add_option("--ready-fd", ready_fd, "descriptor that gets `ready` and the bound addresses");
  auto* check_verb = with_file(app.add_subcommand("check", "report every mistake in the configuration"));
  ProbeWords probing;
  probing.add_to(*check_verb);
  auto* reload_verb = with_file(app.add_subcommand("reload", "make the running process read its configuration again"));
  auto* stop_verb = with_file(app.add_subcommand("stop", "drain and end the running process"));
  stop_verb->add_flag("--now", now, "without draining");
  auto* status_verb = with_file(app.add_subcommand("status", "what the running process does"));
  status_verb->add_flag("--json", json, "as JSON");
  auto* schema_verb = app.add_subcommand("schema", "print the JSON schema of the configuration");
  auto* version_verb = app.add_subcommand("version", "print the version");
  auto* origin_verb = app.add_subcommand("origin", "run the reference application server");
  origin_verb->add_option("--http", origin_options.http, "address for HTTP/1.1, e.g. 127.0.0.1:8081; may be repeated");
  origin_verb->add_option("--ajp", origin_options.ajp, "address for AJP/1.3, e.g. 127.0.0.1:8009; may be repeated");
  origin_verb->add_option("--fastcgi", origin_options.fastcgi, "address for FastCGI; may be repeated");
  origin_verb->add_option("--scgi", origin_options.scgi, "address for SCGI; may be repeated");
  origin_verb->add_option("--uwsgi", origin_options.uwsgi, "address for uwsgi; may be repeated");
  origin_verb->add_option("--route", origin_options.route, "the suffix of its session ids");
  origin_verb->add_option("--secret", origin_options.secret, "the AJP secret it wants");
  origin_verb->add_option("--packet-size", origin_options.packet_size, "AJP packet size, 8192 to 65536")
      ->check(CLI::Range(8192, 65536));
  origin_verb->add_option("--threads", origin_options.threads, "threads")->check(CLI::Range(1, 64));
  origin_verb->add_option("--ready-fd", origin_options.ready_fd, "descriptor that gets the bound addresses");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? kExitOk : kExitUsage;
  }
  if (run_verb->parsed()) return serve(file, ready_fd);
  if (check_verb->parsed() || test) return check(file, probing.get());
  if (reload_verb->parsed()) return ask(file, "reload");
  if (stop_verb->parsed()) return ask(file, now ? "stop now" : "stop");
  if (status_verb->parsed()) return status(file, json);
  if (origin_verb->parsed()) {
    observe::log::start();
    const int code = origin::run_origin(origin_options);
    observe::log::stop();
    return code;
  }
  if (schema_verb->parsed()) {
    std::cout << config::json_schema();
    return kExitOk;
  }
  if (version_verb->parsed()) {
    std::cout << "pontage " PONTAGE_VERSION "\n";
    return kExitOk;
  }
  std::cerr << app.help();
  return kExitUsage;
}

}  // namespace pontage::cli
