#include "src/routing/check.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/routing/pattern.h"

namespace pontage::routing {
namespace {

void check_paths(const config::Route& route, message::Slashes slashes, std::vector<config::Problem>& problems) {
  const auto add = [&](config::Severity severity, std::string message) {
    problems.push_back({severity, route.place, "route `" + route.name + "`: " + std::move(message)});
  };
  for (const auto& path : route.match.paths) {
    if (path.starts_with('~')) {
      const auto regex = compile_regex(std::string_view(path).substr(1));
      if (!regex->ok())
        add(config::Severity::error, "the expression of the path `" + path + "` is wrong: " + regex->error());
      continue;
    }
    const std::string_view plain =
        path.ends_with("/*") ? std::string_view(path).substr(0, path.size() - 1) : std::string_view(path);
    const auto canonical = canonical_pattern(plain, slashes);
    if (canonical.empty()) {
      add(config::Severity::error, "the path `" + path + "` has a malformed %-escape");
    } else if (canonical.find("%2F") != std::string::npos && route.encoded_slash == config::Encoded::refuse) {
      add(config::Severity::warning, "the path `" + path + "` never matches, as long as `encoded_slash` is refused");
    }
  }
}

void check_rewrite(const config::Route& route, std::vector<config::Problem>& problems) {
  const auto add = [&](std::string message) {
    problems.push_back({config::Severity::error, route.place, "route `" + route.name + "`: " + std::move(message)});
  };
  for (const auto& prefix : {route.rewrite.strip_prefix, route.rewrite.add_prefix}) {
    if (!prefix.empty() && canonical_pattern(prefix, message::Slashes::keep).empty()) {
      add("the prefix `" + prefix + "` has a malformed %-escape");
    }
  }
  if (route.rewrite.regex.empty()) return;
  const auto regex = compile_regex(route.rewrite.regex);
  if (!regex->ok()) return add("the expression `" + route.rewrite.regex + "` of `rewrite` is wrong: " + regex->error());
  std::string why;
  const re2::StringPiece replacement(route.rewrite.replacement.data(), route.rewrite.replacement.size());
  if (!regex->CheckRewriteString(replacement, &why)) {
    add("the replacement `" + route.rewrite.replacement + "` is wrong: " + why);
  }
}

}  // namespace

void check(const config::Config& config, std::vector<config::Problem>& problems) {
  const auto slashes = config.merge_slashes ? message::Slashes::merge : message::Slashes::keep;
  for (const auto& route : config.routes) {
    check_paths(route, slashes, problems);
    check_rewrite(route, problems);
  }
  std::stable_sort(problems.begin(), problems.end(), [](const config::Problem& a, const config::Problem& b) {
    return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
  });
}

}  // namespace pontage::routing
