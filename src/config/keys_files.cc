// The keys of a route's files and of compression.
#include <algorithm>
#include <iterator>

#include "protocols/wire/ascii.h"
#include "src/config/files.h"
#include "src/config/scalars.h"
#include "src/config/table.h"

namespace pontage::config {
namespace {

using message::ContentCoding;

constexpr std::int64_t kYears = 10 * 366 * 86'400'000LL;

FilesAction& files(Target& target) {
  return action<FilesAction>(target);
}

bool is_media_type(std::string_view text) {
  const auto slash = text.find('/');
  return slash != std::string_view::npos && text.size() <= 96 && wire::is_token(text.substr(0, slash)) &&
         wire::is_token(text.substr(slash + 1));
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = wire::to_lower(c);
  return out;
}

std::string store_root(Target& target, const Value& value) {
  files(target).root = resolve_path(target.config->file, value.text);
  return value.text.empty() ? "a folder's path cannot be empty" : std::string{};
}

std::string store_index(Target& target, const Value& value) {
  for (const auto& name : value.texts) {
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
      return "`" + name + "` is no file name";
  }
  files(target).index = value.texts;
  return {};
}

std::string store_symlinks(Target& target, const Value& value) {
  files(target).symlinks = static_cast<FilesAction::Symlinks>(value.number);
  return {};
}

// A path below the root as the configuration writes it: "/404.html".
std::string below_root_error(std::string_view path) {
  if (!path.starts_with('/') || path.size() > 1024) return "a path below the folder starts with `/`";
  const std::string whole = std::string(path) + "/";
  const bool odd = path.find("//") != std::string_view::npos || whole.find("/../") != std::string::npos ||
                   whole.find("/./") != std::string::npos;
  return odd ? "a path below the folder has no `//`, `/./` and `/../`" : std::string{};
}

std::string candidate_error(std::string_view text, bool last) {
  if (text.starts_with('=')) {
    const auto status = parse_integer(text.substr(1));
    if (!last) return "a status ends the list";
    return status && *status >= 400 && *status <= 599 ? std::string{} : "a status is `=404` or another from 400 to 599";
  }
  const auto at = text.find("$path");
  if (at == std::string_view::npos) return below_root_error(text);
  const auto front = text.substr(0, at);
  const auto rest = text.substr(at + 5);
  if (rest.find('$') != std::string_view::npos) return "`$path` stands there once at most, and there is nothing else";
  if (front.ends_with('/')) return "`$path` starts with a slash itself";
  return front.empty() ? std::string{} : below_root_error(front);
}

std::string store_candidates(Target& target, const Value& value) {
  for (std::size_t i = 0; i < value.texts.size(); ++i) {
    if (auto error = candidate_error(value.texts[i], i + 1 == value.texts.size()); !error.empty())
      return "`" + value.texts[i] + "`: " + error;
  }
  files(target).candidates = value.texts;
  return value.texts.empty() ? "an empty list would find nothing" : std::string{};
}

std::string store_cache(Target& target, const Value& value) {
  files(target).cache = static_cast<FilesAction::Cache>(value.number);
  return {};
}

std::string store_error_files(Target& target, const Value& value) {
  for (const auto& pair : value.pairs) {
    const auto status = parse_integer(pair.name);
    if (!status || *status < 400 || *status > 599) return "`" + pair.name + "` is no status from 400 to 599";
    if (auto error = below_root_error(*pair.value); !error.empty()) return "`" + *pair.value + "`: " + error;
    files(target).error_files[static_cast<int>(*status)] = *pair.value;
  }
  return {};
}

std::string store_codings(std::vector<ContentCoding>& codings, std::vector<ContentCoding> all, const Value& value) {
  codings.clear();
  for (const auto& text : value.texts) {
    if (value.texts.size() == 1 && parse_boolean(text)) {
      if (*parse_boolean(text)) codings = std::move(all);
      return {};
    }
    const auto coding = message::parse_content_coding(text);
    if (!coding || *coding == ContentCoding::identity)
      return "`" + text + "` is no coding; there are `gzip`, `br` and `zstd`, `true` for all and `false` for none";
    if (std::find(codings.begin(), codings.end(), *coding) != codings.end()) return "`" + text + "` stands there twice";
    codings.push_back(*coding);
  }
  return {};
}

std::string store_precompressed(Target& target, const Value& value) {
  return store_codings(files(target).precompressed, {ContentCoding::br, ContentCoding::zstd, ContentCoding::gzip},
                       value);
}

std::string begin_cache_rule(Target& target, const Value& value) {
  target.cache_rule = &files(target).cache_rules.emplace_back();
  target.cache_rule->place = value.place;
  return {};
}

std::string store_rule_path(Target& target, const Value& value) {
  const std::string_view text = value.text;
  target.cache_rule->path = value.text;
  const auto star = text.find('*');
  const bool prefix = text.starts_with('/') && text.ends_with("/*") && star == text.size() - 1;
  const bool suffix = star == 0 && text.size() > 1 && text.find_first_of("*/", 1) == std::string_view::npos;
  const bool exact = text.starts_with('/') && star == std::string_view::npos;
  return prefix || suffix || exact ? std::string{} : "expected `/folder/*`, `*.css` or `/one/file.html`";
}

std::string store_rule_type(Target& target, const Value& value) {
  target.cache_rule->type = lower(value.text);
  const bool group =
      value.text.ends_with("/*") && wire::is_token(std::string_view(value.text).substr(0, value.text.size() - 2));
  return group || is_media_type(value.text) ? std::string{} : "expected a media type such as `image/*` or `text/css`";
}

std::string store_rule_value(Target& target, const Value& value) {
  target.cache_rule->value = std::string(wire::trim_ows(value.text));
  const bool fine = wire::is_field_value(value.text) && value.text.size() <= 256;
  return fine ? std::string{} : "expected the value of Cache-Control, such as `no-cache`";
}

std::string store_rule_max_age(Target& target, const Value& value) {
  target.cache_rule->max_age = Millis(value.number);
  return {};
}

std::string store_types(Target& target, const Value& value) {
  for (const auto& pair : value.pairs) {
    const std::string_view name = std::string_view(pair.name).substr(pair.name.starts_with('.') ? 1 : 0);
    if (name.empty() || name.size() > 32 || name.find_first_of("./") != std::string_view::npos)
      return "`" + pair.name + "` is no file name extension";
    const std::string_view type = *pair.value;
    if (!is_media_type(wire::trim_ows(type.substr(0, type.find(';')))) || !wire::is_field_value(type) ||
        type.size() > 128)
      return "`" + *pair.value + "` is no media type";
    files(target).types[lower(name)] = *pair.value;
  }
  return {};
}

std::string store_charset(Target& target, const Value& value) {
  files(target).charset = value.text == "off" ? std::string{} : value.text;
  return wire::is_token(value.text) && value.text.size() <= 32 ? std::string{}
                                                               : "expected a name such as utf-8, or off";
}

std::string store_compression(Target& target, const Value& value) {
  return store_codings(target.route->compression.codings, {ContentCoding::zstd, ContentCoding::br, ContentCoding::gzip},
                       value);
}

std::string store_compressed_types(Target& target, const Value& value) {
  auto& types = target.route->compression.types;
  types.clear();
  for (const auto& text : value.texts) {
    const bool group = text.ends_with("/*") && wire::is_token(std::string_view(text).substr(0, text.size() - 2));
    if (!group && !is_media_type(text)) return "`" + text + "` is no media type such as `text/*` or `application/json`";
    types.push_back(lower(text));
  }
  return {};
}

void append_cache_rule_keys(std::vector<Key>& keys) {
  keys.insert(keys.end(),
              {{"routes[].files.cache_control",
                Type::records,
                "",
                "How long clients may keep a file: the first entry that fits decides. Nothing is said of other files.",
                &begin_cache_rule,
                {},
                {},
                "value"},
               {"routes[].files.cache_control[].path", Type::text, "",
                "Files below the folder: `/assets/*`, `*.css` or `/one/file.html`.", &store_rule_path},
               {"routes[].files.cache_control[].type", Type::text, "", "Files of this type: `image/*` or `text/css`.",
                &store_rule_type},
               {"routes[].files.cache_control[].value", Type::text, "",
                "The value of Cache-Control, such as `no-cache`.", &store_rule_value},
               {"routes[].files.cache_control[].max_age",
                Type::duration,
                "",
                "Adds `max-age`.",
                &store_rule_max_age,
                {0, kYears}},
               {"routes[].files.cache_control[].immutable", Type::boolean, "false",
                "Adds `immutable`: the file of this name never changes.",
                +[](Target& t) -> bool& { return t.cache_rule->immutable; }},
               {"routes[].files.cache_control[].expires", Type::boolean, "false",
                "Says the max_age in Expires, too, for caches of HTTP/1.0.",
                +[](Target& t) -> bool& { return t.cache_rule->expires; }}});
}

}  // namespace

void append_files_keys(std::vector<Key>& keys) {
  keys.insert(
      keys.end(),
      {{"routes[].files",
        Type::group,
        "",
        "Serves files: the whole path, after rewrite, below this folder.",
        &begin_action<FilesAction>,
        {},
        {},
        "root"},
       {"routes[].files.root",
        Type::text,
        "",
        "The folder; relative to the configuration file.",
        &store_root,
        {},
        {},
        {},
        Presence::required},
       {"routes[].files.index", Type::texts, "index.html", "What a folder is answered with: the first that exists.",
        &store_index},
       {"routes[].files.symlinks",
        Type::choice,
        "beneath",
        "Which symbolic links are followed: those that stay beneath the root, all, or none.",
        &store_symlinks,
        {},
        {"beneath", "follow", "none"}},
       {"routes[].files.try", Type::texts, "[$path, $path/]",
        "What is looked for in turn: `$path` is the path asked for, `$path/` the index of that folder, `/index.html` "
        "one "
        "file for all; `=404` at the end is a status.",
        &store_candidates},
       {"routes[].files.cache",
        Type::choice,
        "memory",
        "What is kept of files: memory (heads, small bodies, descriptors of larger files), file (heads and "
        "descriptors) or "
        "uncached (nothing: each request opens its file).",
        &store_cache,
        {},
        {"memory", "file", "uncached"}},
       {"routes[].files.listing", Type::boolean, "false",
        "Whether a folder without an index is answered with a list of its files, as HTML or JSON.",
        +[](Target& t) -> bool& { return files(t).listing; }},
       {"routes[].files.error_files", Type::fields, "",
        "Files below the folder that are sent with an error status: `404: /404.html`.", &store_error_files},
       {"routes[].files.precompressed", Type::texts, "false",
        "Whether `x.br`, `x.zst` or `x.gz` beside `x` is sent to clients that understand it: true, or a list of br, "
        "zstd "
        "and gzip in order of preference. A file older than `x` is not sent.",
        &store_precompressed},
       {"routes[].files.types", Type::fields, "",
        "Media types by file name extension: `wasm: application/wasm`. They come before the built-in table and "
        "/etc/mime.types.",
        &store_types},
       {"routes[].files.charset", Type::text, "utf-8", "The charset that is said of text types; `off` for none.",
        &store_charset},
       {"routes[].files.max_ranges",
        Type::integer,
        "16",
        "How many ranges of a file one request may ask for; a request for more gets the whole. 0 serves no ranges.",
        +[](Target& t) -> int& { return files(t).max_ranges; },
        {0, 64}}});
  append_cache_rule_keys(keys);
}

void append_compression_keys(std::vector<Key>& keys) {
  keys.insert(keys.end(), {{"routes[].compress",
                            Type::group,
                            "",
                            "Compresses answers while they are sent, for clients that understand it.",
                            {},
                            {},
                            {},
                            "codings"},
                           {"routes[].compress.codings", Type::texts, "false",
                            "true, or a list of zstd, br and gzip in order of preference.", &store_compression},
                           {"routes[].compress.min_size", Type::size, "1KiB", "Shorter bodies are sent as they are.",
                            +[](Target& t) -> std::uint64_t& { return t.route->compression.min_size; }},
                           {"routes[].compress.types", Type::texts,
                            "text/*, JSON, JavaScript, XML, SVG, WebAssembly and uncompressed fonts",
                            "Which media types are compressed.", &store_compressed_types},
                           {"routes[].compress.gzip_level",
                            Type::integer,
                            "5",
                            "1 is fastest, 9 smallest.",
                            +[](Target& t) -> int& { return t.route->compression.gzip_level; },
                            {1, 9}},
                           {"routes[].compress.brotli_quality",
                            Type::integer,
                            "4",
                            "0 is fastest, 11 smallest.",
                            +[](Target& t) -> int& { return t.route->compression.brotli_quality; },
                            {0, 11}},
                           {"routes[].compress.zstd_level",
                            Type::integer,
                            "3",
                            "1 is fastest, 19 smallest.",
                            +[](Target& t) -> int& { return t.route->compression.zstd_level; },
                            {1, 19}}});
}

}  // namespace pontage::config
