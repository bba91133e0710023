// Changes a path between route and action: strip_prefix, then regex, then add_prefix. Built when the configuration is
// loaded; immutable, shared by all workers; results live in the exchange's arena.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <re2/re2.h>

#include "protocols/message/arena.h"
#include "protocols/message/target.h"
#include "src/config/config.h"

namespace pontage::routing {

class Rewriter {
 public:
  // The longest path that a rewrite may make, in bytes.
  static constexpr std::size_t kMostBytes = 64 * 1024;

  // An expression that does not compile makes every path illegal; routing::check reports it.
  explicit Rewriter(const config::Rewrite& rewrite);

  // True when there is nothing to change: apply() would return its input.
  bool empty() const noexcept { return strip_.empty() && add_.empty() && !regex_; }

  // The new path with its `match` form. Path parameters count as no part of a prefix, and those of a prefix that is
  // stripped go with it; at the very end of the path they stay, since a session's id may be among them. nullopt, which
  // means 400, when the result is not canonical any more: no '/' in front, "//" in front (CASES P16), a dot segment, an
  // illegal byte or escape, an encoded character that the request did not have before, or more than kMostBytes. Views
  // of the arena, or of `path` where nothing changed.
  std::optional<message::CanonicalPath> apply(const message::CanonicalPath& path, message::Arena& arena) const;

 private:
  // nullopt when the prefix is there for matchers, but broken up by parameters so that it cannot be cut off.
  std::optional<std::string_view> strip(const message::CanonicalPath& path, message::Arena& arena) const;
  std::optional<std::string_view> replace(std::string_view path, message::Arena& arena) const;

  std::string strip_;
  std::string add_;
  std::unique_ptr<const re2::RE2> regex_;
  std::string replacement_;
};

}  // namespace pontage::routing
