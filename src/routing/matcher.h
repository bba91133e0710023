// One route's conditions, compiled: whether a request meets them. Built from the configuration when it is loaded, then
// immutable and shared by all workers. Matching allocates nothing (RE2 fills its own bounded cache of states).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <re2/re2.h>

#include "protocols/message/head.h"
#include "src/config/config.h"

namespace pontage::routing {

enum class Matched : std::uint8_t {
  no,
  yes,
  bare_prefix,  // `/x` matched `/x/*`: files redirect it to `/x/`
};

// Every condition must hold; of the values of one condition, one. Hosts ignore case (RFC 9110 4.2.3), methods, paths,
// parameters and cookies do not. Path parameters are ignored (DESIGN "One canonical path").
class Matcher {
 public:
  // An expression that does not compile matches nothing; routing::check reports it.
  Matcher(const config::Match& match, message::Slashes slashes);

  Matched match(const message::RequestHead& head, const message::CanonicalPath& path) const noexcept;

 private:
  struct Host {
    std::string name;  // lower-cased; of a wildcard the part after '*', with its dot
    bool wildcard = false;
  };
  struct Name {
    std::string text;
    message::HeaderId id = message::HeaderId::unknown;  // of a field
    std::optional<std::string> value;
  };

  bool host_matches(std::string_view host) const noexcept;
  bool method_matches(std::string_view method) const noexcept;
  Matched plain_path_matches(std::string_view path) const noexcept;
  bool regex_matches(std::string_view path) const noexcept;
  bool names_match(const message::RequestHead& head) const noexcept;

  std::vector<Host> hosts_;
  std::vector<std::string> methods_;
  std::vector<std::string> exact_;
  std::vector<std::string> prefixes_;  // "/x/", or "/" for `/*`
  std::vector<std::unique_ptr<const re2::RE2>> regexes_;
  bool any_path_ = false;
  std::vector<Name> headers_;
  std::vector<Name> queries_;
  std::vector<Name> cookies_;
};

// True when the query ("a=1&b", without '?') holds a parameter whose name, and value when there is one, is equal after
// decoding of
// %-escapes and '+'. A parameter without '=' has an empty value.
bool query_has(std::string_view query, std::string_view name, const std::optional<std::string>& value) noexcept;
// True when the Cookie field holds a pair of this very name, and value when there is one; quotes around a value do not
// count.
bool cookie_has(std::string_view field, std::string_view name, const std::optional<std::string>& value) noexcept;

}  // namespace pontage::routing
