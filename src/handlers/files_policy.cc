#include "src/handlers/files_policy.h"

#include <algorithm>
#include <charconv>

#include "src/http/media_type.h"

namespace pontage::handlers {
namespace {

using message::ContentCoding;

bool has(std::span<const ContentCoding> list, ContentCoding coding) noexcept {
  return std::find(list.begin(), list.end(), coding) != list.end();
}

Candidate make_candidate(std::string_view text) {
  Candidate made;
  if (text.starts_with('=')) {
    made.kind = Candidate::Kind::status;
    std::from_chars(text.data() + 1, text.data() + text.size(), made.status);
    return made;
  }
  if (text.ends_with('/')) {
    made.kind = Candidate::Kind::folder;
    text.remove_suffix(1);
  }
  const std::size_t at = text.find("$path");
  made.uses_path = at != std::string_view::npos;
  std::string_view front = text.substr(0, at);
  if (front.starts_with('/')) front.remove_prefix(1);
  made.front = front;
  if (made.uses_path) made.back = text.substr(at + 5);
  return made;
}

// The value of Cache-Control that a rule makes.
std::string value_of(const config::CacheRule& rule) {
  std::string value = rule.value;
  const auto add = [&](std::string_view directive) {
    if (!value.empty()) value += ", ";
    value += directive;
  };
  if (rule.max_age) add("max-age=" + std::to_string(rule.max_age->count() / 1000));
  if (rule.immutable) add("immutable");
  return value;
}

// "x/*" covers what lies below x, "*.css" names that end so.
bool covers_path(std::string_view pattern, std::string_view path) noexcept {
  if (pattern.empty()) return true;
  if (pattern.starts_with("*")) return path.ends_with(pattern.substr(1));
  if (pattern.ends_with("/*")) return path.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == path;
}

}  // namespace

std::string_view Candidate::name_for(std::string_view path, message::Arena& arena) const {
  if (!uses_path) return front;
  if (front.empty() && back.empty()) return path;
  if (front.empty()) return arena.join({path, back});
  return arena.join({front, path.empty() ? "" : "/", path, back});
}

FilesPolicy::FilesPolicy(const config::FilesAction& action, const config::Compression& compression, std::uint32_t id,
                         cache::Resolver resolver)
    : action_(action), compression_(compression), all_codings_(action.precompressed) {
  using Cache = config::FilesAction::Cache;
  root_ = {.id = id,
           .directory = action.root,
           .links = action.symlinks,
           .resolver = resolver,
           .memory_body = action.cache == Cache::file ? 0 : cache::kMemoryBody};
  types_ = &MimeTypes::system();
  if (!action.types.empty() || action.charset != MimeTypes::kCharset) {
    own_types_ = std::make_unique<const MimeTypes>(MimeTypes::kSystemFile, action.charset, action.types);
    types_ = own_types_.get();
  }
  for (const std::string& text : action.candidates) candidates_.push_back(make_candidate(text));
  for (const config::CacheRule& rule : action.cache_rules) {
    Rule made{rule.path.substr(rule.path.starts_with('/') ? 1 : 0), rule.type, value_of(rule), -1};
    if (rule.expires && rule.max_age) made.expires = rule.max_age->count() / 1000;
    says_expires_ = says_expires_ || made.expires >= 0;
    rules_.push_back(std::move(made));
  }
  for (const ContentCoding coding : compression.codings) {
    if (!has(all_codings_, coding)) all_codings_.push_back(coding);
  }
}

std::string_view FilesPolicy::error_file(int status) const noexcept {
  const auto found = action_.error_files.find(status);
  return found == action_.error_files.end() ? std::string_view{} : std::string_view(found->second).substr(1);
}

const FilesPolicy::Rule* FilesPolicy::rule_for(std::string_view path, std::string_view content_type) const noexcept {
  for (const Rule& rule : rules_) {
    if (covers_path(rule.path, path) && (rule.type.empty() || http::media_type_matches(content_type, rule.type)))
      return &rule;
  }
  return nullptr;
}

cache::Presentation FilesPolicy::shown(std::string_view path) const {
  cache::Presentation shown;
  shown.content_type = types_->find(path);
  if (const Rule* rule = rule_for(path, shown.content_type)) shown.cache_control = rule->value;
  const bool negotiated =
      !action_.precompressed.empty() ||
      (!compression_.codings.empty() && http::media_type_matches(shown.content_type, compression_.types));
  if (negotiated) shown.vary = cache::Presentation::Vary::accept_encoding;
  return shown;
}

std::int64_t FilesPolicy::expires_after(std::string_view path) const {
  const Rule* rule = rule_for(path, types_->find(path));
  return rule == nullptr ? -1 : rule->expires;
}

bool FilesPolicy::is_precompressed(ContentCoding coding) const noexcept {
  return has(action_.precompressed, coding);
}

bool FilesPolicy::compresses(ContentCoding coding) const noexcept {
  return has(compression_.codings, coding);
}

bool FilesPolicy::compresses(std::string_view content_type, std::uint64_t size) const noexcept {
  return !compression_.codings.empty() && size >= compression_.min_size && size != 0 &&
         http::media_type_matches(content_type, compression_.types);
}

}  // namespace pontage::handlers
