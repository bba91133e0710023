#include "src/routing/rewrite.h"

#include <algorithm>
#include <cstring>

#include "src/routing/pattern.h"

namespace pontage::routing {
namespace {

constexpr int kGroups = 10;  // \0 .. \9

bool is_path_byte(char c) noexcept {
  const auto u = static_cast<unsigned char>(c);
  return u > 0x20 && u < 0x7f && std::string_view("?#\"<>^`{|}").find(c) == std::string_view::npos;
}

// Calls `each(view)` for the pieces a replacement stands for: its own text, and groups for \0 .. \9.
template <class F>
void for_each_part(std::string_view replacement, const re2::StringPiece* groups, F&& each) {
  for (std::size_t at = 0; at < replacement.size();) {
    if (replacement[at] != '\\') {
      const auto end = std::min(replacement.find('\\', at), replacement.size());
      each(replacement.substr(at, end - at));
      at = end;
      continue;
    }
    if (at + 1 == replacement.size()) return;
    const char c = replacement[at + 1];
    if (c >= '0' && c <= '9') {
      const auto& group = groups[c - '0'];
      if (!group.empty()) each(std::string_view(group.data(), group.size()));
    } else {
      each(replacement.substr(at + 1, 1));
    }
    at += 2;
  }
}

// The path as it went out of the rules, if it is one that a request could have after decoding.
std::optional<message::CanonicalPath> validate(std::string_view text, const message::PathMarks& before,
                                               message::Arena& arena) {
  if (text.empty() || text.size() > Rewriter::kMostBytes || text.front() != '/') return std::nullopt;
  if (text.starts_with("//") || text.starts_with("/\\")) return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), is_path_byte)) return std::nullopt;
  const auto canonical = message::canonical_path(text, message::Slashes::keep, arena);
  if (!canonical || canonical->path != text || canonical->match.starts_with("//")) return std::nullopt;
  const auto& marks = canonical->marks;
  const bool worse = (marks.encoded_slash && !before.encoded_slash) || (marks.backslash && !before.backslash) ||
                     (marks.nul && !before.nul);
  if (worse) return std::nullopt;
  return *canonical;
}

}  // namespace

Rewriter::Rewriter(const config::Rewrite& rewrite)
    : strip_(canonical_pattern(rewrite.strip_prefix, message::Slashes::keep)),
      add_(canonical_pattern(rewrite.add_prefix, message::Slashes::keep)),
      regex_(rewrite.regex.empty() ? nullptr : compile_regex(rewrite.regex)),
      replacement_(rewrite.replacement) {}

std::optional<message::CanonicalPath> Rewriter::apply(const message::CanonicalPath& path, message::Arena& arena) const {
  if (empty() || path.path == "*") return path;
  const auto stripped = strip(path, arena);
  if (!stripped) return std::nullopt;
  auto text = *stripped;
  if (regex_) {
    const auto replaced = replace(text, arena);
    if (!replaced) return std::nullopt;
    text = *replaced;
  }
  if (!add_.empty()) text = arena.join({add_, text});
  if (text == path.path) return path;
  return validate(text, path.marks, arena);
}

std::optional<std::string_view> Rewriter::strip(const message::CanonicalPath& canonical, message::Arena& arena) const {
  const auto path = canonical.path;
  const auto seen = canonical.match;
  if (strip_.empty() || !seen.starts_with(strip_)) return path;
  if (seen.size() > strip_.size() && seen[strip_.size()] != '/') return path;
  std::size_t at = 0;
  const auto skip_parameters = [&] {
    const auto from = at;
    if (at < path.size() && path[at] == ';') at = std::min(path.find('/', at), path.size());
    return path.substr(from, at - from);
  };
  for (const char expected : strip_) {
    if (expected == '/') skip_parameters();
    if (at == path.size() || path[at] != expected) return std::nullopt;
    ++at;
  }
  const auto parameters = skip_parameters();
  if (at < path.size()) return path.substr(at);
  return parameters.empty() ? std::string_view("/") : arena.join({"/", parameters});
}

std::optional<std::string_view> Rewriter::replace(std::string_view path, message::Arena& arena) const {
  if (!regex_->ok()) return std::nullopt;
  re2::StringPiece groups[kGroups];
  const re2::StringPiece text(path.data(), path.size());
  const int wanted = std::min(kGroups, regex_->NumberOfCapturingGroups() + 1);
  if (!regex_->Match(text, 0, path.size(), re2::RE2::UNANCHORED, groups, wanted)) return path;
  const auto before = static_cast<std::size_t>(groups[0].data() - path.data());
  const auto after = path.substr(before + groups[0].size());
  std::size_t size = before + after.size();
  for_each_part(replacement_, groups, [&](std::string_view part) { size += part.size(); });
  if (size > kMostBytes) return std::nullopt;
  if (size == 0) return std::string_view{};
  const auto out = arena.chars(size);
  std::size_t at = 0;
  const auto append = [&](std::string_view part) {
    if (!part.empty()) std::memcpy(out.data() + at, part.data(), part.size());
    at += part.size();
  };
  append(path.substr(0, before));
  for_each_part(replacement_, groups, append);
  append(after);
  return std::string_view(out.data(), size);
}

}  // namespace pontage::routing
