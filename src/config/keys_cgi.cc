// The keys of backends that speak in CGI variables (fastcgi, scgi, uwsgi), of routes that run programs, and of request
// bodies that are taken in before a server is.
#include <algorithm>

#include "protocols/cgi/variables.h"
#include "protocols/wire/ascii.h"
#include "src/config/addresses.h"
#include "src/config/files.h"
#include "src/config/table.h"

namespace pontage::config {
namespace {

bool is_plain_path(std::string_view text) noexcept {
  return std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

std::string without_last_slash(std::string_view text) {
  while (text.size() > 1 && text.ends_with('/')) text.remove_suffix(1);
  return std::string(text);
}

std::string store_document_root(Target& target, const Value& value) {
  target.backend->cgi.document_root = without_last_slash(value.text);
  const bool fine = value.text.starts_with('/') && is_plain_path(value.text);
  return fine ? std::string{} : "the folder as the server sees it: a path that starts with `/`";
}

std::string store_index_script(Target& target, const Value& value) {
  target.backend->cgi.index = value.text;
  const bool fine = !value.text.empty() && value.text.find('/') == std::string::npos && is_plain_path(value.text);
  return fine ? std::string{} : "the name of a file, such as index.php";
}

std::string store_extensions(Target& target, const Value& value) {
  for (const auto& text : value.texts) {
    const bool fine = text.size() > 1 && text.front() == '.' && std::all_of(text.begin() + 1, text.end(), [](char c) {
                        return wire::is_alpha(c) || wire::is_digit(c) || c == '.' || c == '_' || c == '-';
                      });
    if (!fine) return "`" + text + "`: an extension starts with a dot, as in .php";
  }
  target.backend->cgi.extensions = value.texts;
  return value.texts.empty() ? "at least one extension; for one script alone use `script`" : std::string{};
}

std::string store_script(Target& target, const Value& value) {
  target.backend->cgi.script = value.text;
  const bool fine = !value.text.empty() && !value.text.ends_with('/') && is_plain_path(value.text);
  return fine ? std::string{} : "the path of a script, such as /srv/app/index.php";
}

std::string store_script_name(Target& target, const Value& value) {
  target.backend->cgi.script_name = value.text == "/" ? std::string() : without_last_slash(value.text);
  const bool fine = value.text.starts_with('/') && !value.text.starts_with("//") && is_plain_path(value.text) &&
                    value.text.find_first_of("?#%;") == std::string::npos;
  return fine ? std::string{} : "the path an application is mounted at, such as /app";
}

template <std::vector<Variable>& (*kParams)(Target&)>
std::string store_params(Target& target, const Value& value) {
  for (const auto& pair : value.pairs) {
    if (pair.name.empty() || pair.name.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
      return "`" + pair.name + "` is no name of a variable";
    }
    if (cgi::is_computed(pair.name)) {
      return "`" + pair.name + "` is computed from the request; the other keys here say how";
    }
    if (pair.name.starts_with("HTTP_")) return "`" + pair.name + "` stands for a field; use `request_headers: { set }`";
    if (pair.value->find('\0') != std::string::npos) return "the value of `" + pair.name + "` holds a NUL";
    kParams(target).push_back({pair.name, *pair.value});
  }
  return {};
}

template <std::vector<std::string>& (*kNames)(Target&)>
std::string store_underscored(Target& target, const Value& value) {
  for (const auto& text : value.texts) {
    if (!wire::is_token(text)) return "`" + text + "` is no field name";
    if (text.find('_') == std::string::npos) return "`" + text + "` has no underscore: it is let through as it is";
    kNames(target).push_back(lower(text));
  }
  return {};
}

std::vector<Variable>& backend_params(Target& target) {
  return target.backend->cgi.params;
}
std::vector<std::string>& backend_underscored(Target& target) {
  return target.backend->cgi.underscored;
}

CgiAction& cgi_action(Target& target) {
  return action<CgiAction>(target);
}
std::vector<Variable>& action_params(Target& target) {
  return cgi_action(target).params;
}
std::vector<std::string>& action_underscored(Target& target) {
  return cgi_action(target).underscored;
}

std::string store_action_root(Target& target, const Value& value) {
  cgi_action(target).root = without_last_slash(resolve_path(target.config->file, value.text));
  return !value.text.empty() && is_plain_path(value.text) ? std::string{} : "the folder of the scripts";
}

std::string store_action_name(Target& target, const Value& value) {
  cgi_action(target).script_name = value.text == "/" ? std::string() : without_last_slash(value.text);
  const bool fine = value.text.starts_with('/') && !value.text.starts_with("//") && is_plain_path(value.text) &&
                    value.text.find_first_of("?#%;") == std::string::npos;
  return fine ? std::string{} : "the path that stands for the folder, such as /cgi-bin";
}

std::string store_action_index(Target& target, const Value& value) {
  cgi_action(target).index = value.text;
  const bool fine =
      value.text.find('/') == std::string::npos && !value.text.starts_with('.') && is_plain_path(value.text);
  return fine ? std::string{} : "the name of a file, such as index.cgi";
}

std::string store_action_symlinks(Target& target, const Value& value) {
  cgi_action(target).symlinks = static_cast<FilesAction::Symlinks>(value.number);
  return {};
}

std::string store_interpreters(Target& target, const Value& value) {
  for (const auto& pair : value.pairs) {
    const bool named = pair.name.size() > 1 && pair.name.starts_with('.') && pair.name.find('/') == std::string::npos;
    if (!named) return "`" + pair.name + "`: an extension starts with a dot, as in .pl";
    if (!pair.value->starts_with('/')) return "`" + *pair.value + "`: a program's path starts with `/`";
    cgi_action(target).interpreters.push_back({pair.name, *pair.value});
  }
  return {};
}

std::string store_pass_env(Target& target, const Value& value) {
  for (const auto& name : value.texts) {
    if (name.empty() || name.find('=') != std::string::npos) return "`" + name + "` is no name of a variable";
    if (cgi::is_computed(name) || name.starts_with("HTTP_")) return "`" + name + "` is the request's to set";
  }
  cgi_action(target).pass_env = value.texts;
  return {};
}

std::string store_buffering(Target& target, const Value& value) {
  target.backend->request_buffering = static_cast<Buffering>(value.number);
  return {};
}

std::string store_response_buffering(Target& target, const Value& value) {
  target.backend->response_buffering = static_cast<Buffering>(value.number);
  return {};
}

std::string store_route_response_buffering(Target& target, const Value& value) {
  target.route->response_buffering = static_cast<Buffering>(value.number);
  return {};
}

std::string store_route_buffering(Target& target, const Value& value) {
  target.route->request_buffering = static_cast<Buffering>(value.number);
  return {};
}

std::string store_spool_folder(Target& target, const Value& value) {
  target.config->spool.folder = without_last_slash(value.text);
  return value.text.starts_with('/') ? std::string{} : "a folder's path starts with `/`";
}

}  // namespace

void append_cgi_keys(std::vector<Key>& keys) {
  keys.insert(
      keys.end(),
      {{"backends{}.document_root", Type::text, "",
        "FastCGI, SCGI, uwsgi: the scripts' folder as the server sees it. Without it the server is one application.",
        &store_document_root},
       {"backends{}.index", Type::text, "index.php",
        "The script of a path that ends in `/`, and at the root the script of a path that names none.",
        &store_index_script},
       {"backends{}.extensions", Type::texts, ".php",
        "What a script's name ends in; what follows it in the path is PATH_INFO.", &store_extensions},
       {"backends{}.script", Type::text, "",
        "The one script of every request, absolute or below `document_root`; the path is PATH_INFO.", &store_script},
       {"backends{}.script_name", Type::text, "",
        "Where an application is mounted, such as /app: its SCRIPT_NAME; the rest of the path is PATH_INFO.",
        &store_script_name},
       {"backends{}.params", Type::fields, "", "Further variables for the server, by name.",
        &store_params<backend_params>},
       {"backends{}.underscored", Type::texts, "",
        "Fields with `_` in their names that become variables; others are left out, as they can pose as another.",
        &store_underscored<backend_underscored>},
       {"backends{}.keep_alive", Type::boolean, "false",
        "FastCGI: use connections again. Each kept one holds a PHP child, so set connections.max below their number.",
        +[](Target& t) -> bool& { return t.backend->keep_alive; }},
       {"backends{}.max_vars",
        Type::size,
        "65535B",
        "uwsgi: the most bytes of a request's variables, as the server's buffer-size; more is 431.",
        +[](Target& t) -> std::uint64_t& { return t.backend->max_vars; },
        {1024, 65535}},
       {"backends{}.request_buffering",
        Type::choice,
        "",
        "Whether a request body is taken in before a server is: `auto` (when slow or of unknown length), `on` (always "
        "whole) or `off`. Unless given `on` for fastcgi, scgi and uwsgi, `auto` for ajp, `off` for http.",
        &store_buffering,
        {},
        {"auto", "off", "on"}},
       {"backends{}.response_buffering",
        Type::choice,
        "auto",
        "Whether an answer is taken in before the client gets it, so that slow clients hold no server: `on` (whole, up "
        "to "
        "`spool.response`), `off` (every byte passes at once) or `auto` (small pieces wait 4 ms for the next). Event "
        "streams, "
        "and what a server flushes, pass at once all the same.",
        &store_response_buffering,
        {},
        {"auto", "off", "on"}}});
}

namespace {

void append_cgi_process_keys(std::vector<Key>& keys) {
  keys.insert(keys.end(),
              {{"routes[].cgi.max",
                Type::integer,
                "32",
                "Processes at once; further requests wait in the queue.",
                +[](Target& t) -> int& { return cgi_action(t).max; },
                {1, 10000}},
               {"routes[].cgi.queue", Type::group, "", "Requests that wait for a process to end when there are `max`."},
               {"routes[].cgi.queue.length",
                Type::integer,
                "500",
                "The next one is 503.",
                +[](Target& t) -> int& { return cgi_action(t).queue.length; },
                {0, 1000000}},
               {"routes[].cgi.queue.timeout", Type::duration, "2s", "Then 503.",
                +[](Target& t) -> Millis& { return cgi_action(t).queue.timeout; }},
               {"routes[].cgi.timeouts", Type::group, "",
                "What is late is 504 when nothing was sent yet; its process group gets SIGTERM, then SIGKILL."},
               {"routes[].cgi.timeouts.first_byte", Type::duration, "30s",
                "From the end of the request to the first byte of the response.",
                +[](Target& t) -> Millis& { return cgi_action(t).timeouts.first_byte; }},
               {"routes[].cgi.timeouts.idle", Type::duration, "60s",
                "Between bytes of a body, either way; and what a script may go on for after its response.",
                +[](Target& t) -> Millis& { return cgi_action(t).timeouts.idle; }},
               {"routes[].cgi.timeouts.total", Type::duration, "0s", "From the start of the process; 0: any.",
                +[](Target& t) -> Millis& { return cgi_action(t).timeouts.total; }},
               {"routes[].cgi.timeouts.kill", Type::duration, "5s", "Between SIGTERM and SIGKILL.",
                +[](Target& t) -> Millis& { return cgi_action(t).timeouts.kill; }},
               {"routes[].cgi.user", Type::text, "",
                "The user that scripts run as, with the user's groups; the gateway must be root. The gateway's own "
                "unless given.",
                +[](Target& t) -> std::string& { return cgi_action(t).user; }},
               {"routes[].cgi.limits", Type::group, "", "What the kernel lets each process have."},
               {"routes[].cgi.limits.cpu", Type::duration, "0s", "CPU time, in whole seconds; 0: any.",
                +[](Target& t) -> Millis& { return cgi_action(t).limits.cpu; }},
               {"routes[].cgi.limits.memory", Type::size, "0B", "Address space; 0: any.",
                +[](Target& t) -> std::uint64_t& { return cgi_action(t).limits.memory; }},
               {"routes[].cgi.limits.file_size", Type::size, "0B", "The largest file it may write; 0: any.",
                +[](Target& t) -> std::uint64_t& { return cgi_action(t).limits.file_size; }},
               {"routes[].cgi.limits.files",
                Type::integer,
                "1024",
                "Open descriptors.",
                +[](Target& t) -> int& { return cgi_action(t).limits.files; },
                {8, 1000000}},
               {"routes[].cgi.limits.processes",
                Type::integer,
                "0",
                "Processes of its user, in all; 0: any.",
                +[](Target& t) -> int& { return cgi_action(t).limits.processes; },
                {0, 1000000}}});
}

}  // namespace

void append_cgi_action_keys(std::vector<Key>& keys) {
  keys.insert(
      keys.end(),
      {{"routes[].cgi",
        Type::group,
        "",
        "Runs a program for each request (CGI/1.1).",
        &begin_action<CgiAction>,
        {},
        {},
        "root"},
       {"routes[].cgi.root",
        Type::text,
        "",
        "The folder of the scripts. It stands for `script_name`: /cgi-bin/x is ROOT/x in a route of /cgi-bin/*.",
        &store_action_root,
        {},
        {},
        {},
        Presence::required},
       {"routes[].cgi.script_name", Type::text, "",
        "The path that stands for `root`; unless given the route's own, when it has one that ends in `/*`.",
        &store_action_name},
       {"routes[].cgi.index", Type::text, "", "The script of a folder; without one it is 403.", &store_action_index},
       {"routes[].cgi.symlinks",
        Type::choice,
        "beneath",
        "Which links are followed: those that stay `beneath` the folder, all (`follow`), or `none`.",
        &store_action_symlinks,
        {},
        {"beneath", "follow", "none"}},
       {"routes[].cgi.interpreters", Type::fields, "",
        "Programs by extension, such as `.pl: /usr/bin/perl`; other scripts are executed themselves.",
        &store_interpreters},
       {"routes[].cgi.params", Type::fields, "", "Further variables, by name.", &store_params<action_params>},
       {"routes[].cgi.pass_env", Type::texts, "",
        "Variables of the gateway's environment that scripts get; PATH is a plain one unless named here.",
        &store_pass_env},
       {"routes[].cgi.underscored", Type::texts, "",
        "Fields with `_` in their names that become variables; others are left out, as they can pose as another.",
        &store_underscored<action_underscored>},
       {"routes[].cgi.authorization", Type::boolean, "false",
        "Whether scripts get HTTP_AUTHORIZATION: other processes may be able to read their environment.",
        +[](Target& t) -> bool& { return cgi_action(t).authorization; }}});
  append_cgi_process_keys(keys);
}

void append_buffering_keys(std::vector<Key>& keys) {
  keys.insert(keys.end(),
              {{"routes[].request_buffering",
                Type::choice,
                "",
                "As the backend's, for this route alone.",
                &store_route_buffering,
                {},
                {"auto", "off", "on"}},
               {"routes[].response_buffering",
                Type::choice,
                "",
                "As the backend's, for this route alone.",
                &store_route_response_buffering,
                {},
                {"auto", "off", "on"}},
               {"spool", Type::group, "", "Where buffered bodies wait."},
               {"spool.response",
                Type::size,
                "256MiB",
                "Of one answer; what follows is passed on as it comes.",
                +[](Target& t) -> std::uint64_t& { return t.config->spool.response; },
                {4096, 1ULL << 40}},
               {"spool.memory",
                Type::size,
                "64KiB",
                "Of each body; the rest is in a file.",
                +[](Target& t) -> std::uint64_t& { return t.config->spool.memory; },
                {4096, 1 << 30}},
               {"spool.folder", Type::text, "/tmp", "Of those files; they have no names.", &store_spool_folder}});
}

}  // namespace pontage::config
