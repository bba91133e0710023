// The request target: its four forms (RFC 9112 3.2) and the one canonical path made from it (DESIGN "One canonical
// path"; ADAPTERS A11, V5, V6; CASES P14-P17). Results are views of the input where nothing changed, else they
// live in the arena.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocols/message/arena.h"
#include "protocols/message/method.h"
#include "protocols/wire/decode_error.h"
#include "protocols/wire/expected.h"

namespace pontage::message {

enum class TargetForm : std::uint8_t { origin, absolute, authority, asterisk };

struct Target {
  TargetForm form = TargetForm::origin;
  std::string_view scheme;     // absolute form only, "http" or "https" in any case
  std::string_view authority;  // absolute and authority forms: host[:port] as sent
  std::string_view raw_path;   // starts with '/', "*" for the asterisk form; "/" when an absolute form has none
  std::string_view query;      // after the first '?', without it
  bool has_query = false;      // "/x?" has an empty query, "/x" has none (ADAPTERS X1)
};

// Splits and checks the bytes: only the visible ASCII characters of RFC 3986, no fragment, no bytes above 0x7f, no
// controls, no raw backslash refused here (see PathMarks), userinfo in an authority refused. Asterisk only with
// OPTIONS, authority form only with CONNECT.
wire::Expected<Target, wire::DecodeError> parse_target(std::string_view target, Method method) noexcept;

struct Authority {
  std::string_view host;   // as sent, without brackets removed: "[::1]" keeps them; lower-casing is the caller's
  std::uint16_t port = 0;  // 0 when absent
};
// host[:port] by RFC 3986 3.2.2: reg-name, IPv4 or [IPv6]. Refuses userinfo, spaces, commas, an empty host, a port
// above 65535.
wire::Expected<Authority, wire::DecodeError> parse_authority(std::string_view text) noexcept;

// What a canonical path still holds in encoded form; a route may allow them, the default refuses with 400.
struct PathMarks {
  bool encoded_slash = false;  // %2F
  bool backslash = false;      // %5C, or a raw '\'
  bool nul = false;            // %00
};

struct CanonicalPath {
  std::string_view
      path;  // still percent-encoded: unreserved characters decoded once, other escapes upper-case hex,
             // dot segments (also "..;x", "%2e") resolved, "//" merged unless told not to. Keeps path parameters.
  std::string_view match;  // the same without path parameters (";..." of each segment): what matchers see
  PathMarks marks;
};

enum class Slashes : std::uint8_t { merge, keep };

// Never climbs above "/": "/../x" is "/x". Malformed escapes ("%zz", "%4") are malformed_target.
wire::Expected<CanonicalPath, wire::DecodeError> canonical_path(std::string_view raw_path, Slashes slashes,
                                                                Arena& arena);

// Decodes every %-escape once, into the arena: for looking a file up. The result may hold any byte.
std::string_view percent_decode(std::string_view text, Arena& arena);

}  // namespace pontage::message
