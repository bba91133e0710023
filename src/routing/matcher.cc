#include "src/routing/matcher.h"

#include <algorithm>

#include "protocols/wire/ascii.h"
#include "src/routing/pattern.h"

namespace pontage::routing {
namespace {

// Compares a form-encoded text with a plain one while decoding it. A malformed escape stands for itself.
bool equals_decoded(std::string_view encoded, std::string_view plain) noexcept {
  std::size_t at = 0;
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    char c = encoded[i];
    if (c == '+') c = ' ';
    if (c == '%' && i + 2 < encoded.size()) {
      const int high = wire::hex_value(encoded[i + 1]);
      const int low = wire::hex_value(encoded[i + 2]);
      if (high >= 0 && low >= 0) {
        c = static_cast<char>(high << 4 | low);
        i += 2;
      }
    }
    if (at == plain.size() || plain[at++] != c) return false;
  }
  return at == plain.size();
}

// Calls `each(piece)` for what stands between separators, until it returns true; returns whether it did.
template <class F>
bool any_piece(std::string_view text, char separator, F&& each) noexcept {
  for (;;) {
    const auto end = text.find(separator);
    if (each(text.substr(0, end))) return true;
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
  }
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), wire::to_lower);
  return out;
}

}  // namespace

bool query_has(std::string_view query, std::string_view name, const std::optional<std::string>& value) noexcept {
  return any_piece(query, '&', [&](std::string_view piece) {
    if (piece.empty()) return false;
    const auto equals = std::min(piece.find('='), piece.size());
    if (!equals_decoded(piece.substr(0, equals), name)) return false;
    return !value || equals_decoded(piece.substr(std::min(equals + 1, piece.size())), *value);
  });
}

bool cookie_has(std::string_view field, std::string_view name, const std::optional<std::string>& value) noexcept {
  return any_piece(field, ';', [&](std::string_view piece) {
    piece = wire::trim_ows(piece);
    const auto equals = piece.find('=');
    if (equals == std::string_view::npos || wire::trim_ows(piece.substr(0, equals)) != name) return false;
    if (!value) return true;
    auto held = wire::trim_ows(piece.substr(equals + 1));
    if (held == *value) return true;
    if (held.size() >= 2 && held.front() == '"' && held.back() == '"') held = held.substr(1, held.size() - 2);
    return held == *value;
  });
}

Matcher::Matcher(const config::Match& match, message::Slashes slashes)
    : methods_(match.methods), any_path_(match.paths.empty()) {
  for (const auto& host : match.hosts) {
    const bool wildcard = host.starts_with("*.");
    hosts_.push_back({lowered(wildcard ? std::string_view(host).substr(1) : std::string_view(host)), wildcard});
  }
  for (const auto& path : match.paths) {
    if (path.starts_with('~')) {
      regexes_.push_back(compile_regex(std::string_view(path).substr(1)));
    } else if (path == "/*") {
      any_path_ = true;
    } else if (path.ends_with("/*")) {
      prefixes_.push_back(canonical_pattern(std::string_view(path).substr(0, path.size() - 1), slashes));
    } else {
      exact_.push_back(canonical_pattern(path, slashes));
    }
  }
  const auto names = [](const std::vector<config::NameMatch>& from) {
    std::vector<Name> out;
    for (const auto& one : from) out.push_back({one.name, message::lookup_header(one.name), one.value});
    return out;
  };
  headers_ = names(match.headers);
  queries_ = names(match.queries);
  cookies_ = names(match.cookies);
}

Matched Matcher::match(const message::RequestHead& head, const message::CanonicalPath& path) const noexcept {
  if (!method_matches(head.method_text) || !host_matches(head.host)) return Matched::no;
  auto matched = plain_path_matches(path.match);
  if (matched == Matched::no && regexes_.empty()) return Matched::no;
  if (!names_match(head)) return Matched::no;
  if (matched == Matched::no && regex_matches(path.match)) matched = Matched::yes;
  return matched;
}

bool Matcher::host_matches(std::string_view host) const noexcept {
  if (hosts_.empty()) return true;
  return std::any_of(hosts_.begin(), hosts_.end(), [&](const Host& mine) {
    if (host.size() < mine.name.size() || (!mine.wildcard && host.size() != mine.name.size())) return false;
    if (!mine.wildcard) return wire::iequals(host, mine.name);
    const auto front = host.size() - mine.name.size();
    return front > 0 && wire::iequals(host.substr(front), mine.name);
  });
}

bool Matcher::method_matches(std::string_view method) const noexcept {
  return methods_.empty() || std::find(methods_.begin(), methods_.end(), method) != methods_.end();
}

Matched Matcher::plain_path_matches(std::string_view path) const noexcept {
  if (any_path_) return Matched::yes;
  for (const auto& exact : exact_) {
    if (path == exact) return Matched::yes;
  }
  for (const auto& prefix : prefixes_) {
    if (prefix.empty()) continue;
    if (path.starts_with(prefix)) return Matched::yes;
    if (path.size() + 1 == prefix.size() && prefix.starts_with(path)) return Matched::bare_prefix;
  }
  return Matched::no;
}

bool Matcher::regex_matches(std::string_view path) const noexcept {
  const re2::StringPiece text(path.data(), path.size());
  return std::any_of(regexes_.begin(), regexes_.end(),
                     [&](const auto& regex) { return regex->ok() && re2::RE2::FullMatch(text, *regex); });
}

bool Matcher::names_match(const message::RequestHead& head) const noexcept {
  const auto has_header = [&](const Name& name) {
    return std::any_of(head.headers.begin(), head.headers.end(), [&](const message::Header& field) {
      if (field.id != name.id || (name.id == message::HeaderId::unknown && !wire::iequals(field.name, name.text)))
        return false;
      return !name.value || field.value == *name.value;
    });
  };
  const auto has_query = [&](const Name& name) { return query_has(head.target.query, name.text, name.value); };
  const auto has_cookie = [&](const Name& name) {
    return std::any_of(head.headers.begin(), head.headers.end(), [&](const message::Header& field) {
      return field.id == message::HeaderId::cookie && cookie_has(field.value, name.text, name.value);
    });
  };
  return std::all_of(headers_.begin(), headers_.end(), has_header) &&
         std::all_of(queries_.begin(), queries_.end(), has_query) &&
         std::all_of(cookies_.begin(), cookies_.end(), has_cookie);
}

}  // namespace pontage::routing
