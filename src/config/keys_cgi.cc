// The keys of backends that speak in CGI variables (fastcgi, scgi, uwsgi), and of request bodies that are taken in
// before a server is.
#include <algorithm>

#include "protocols/cgi/variables.h"
#include "protocols/wire/ascii.h"
#include "src/config/addresses.h"
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

std::string store_index(Target& target, const Value& value) {
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

std::string store_params(Target& target, const Value& value) {
  for (const auto& pair : value.pairs) {
    if (pair.name.empty() || pair.name.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
      return "`" + pair.name + "` is no name of a variable";
    }
    if (cgi::is_computed(pair.name)) {
      return "`" + pair.name +
             "` is computed from the request; `document_root`, `index`, `script` and `script_name` say how";
    }
    if (pair.name.starts_with("HTTP_")) return "`" + pair.name + "` stands for a field; use `request_headers: { set }`";
    if (pair.value->find('\0') != std::string::npos) return "the value of `" + pair.name + "` holds a NUL";
    target.backend->cgi.params.push_back({pair.name, *pair.value});
  }
  return {};
}

std::string store_underscored(Target& target, const Value& value) {
  for (const auto& text : value.texts) {
    if (!wire::is_token(text)) return "`" + text + "` is no field name";
    if (text.find('_') == std::string::npos) return "`" + text + "` has no underscore: it is let through as it is";
    target.backend->cgi.underscored.push_back(lower(text));
  }
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
        "The script of a path that ends in `/`, and at the root the script of a path that names none.", &store_index},
       {"backends{}.extensions", Type::texts, ".php",
        "What a script's name ends in; what follows it in the path is PATH_INFO.", &store_extensions},
       {"backends{}.script", Type::text, "",
        "The one script of every request, absolute or below `document_root`; the path is PATH_INFO.", &store_script},
       {"backends{}.script_name", Type::text, "",
        "Where an application is mounted, such as /app: its SCRIPT_NAME; the rest of the path is PATH_INFO.",
        &store_script_name},
       {"backends{}.params", Type::fields, "", "Further variables for the server, by name.", &store_params},
       {"backends{}.underscored", Type::texts, "",
        "Fields with `_` in their names that become variables; others are left out, as they can pose as another.",
        &store_underscored},
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
