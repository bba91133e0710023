#include "src/config/addresses.h"

#include <algorithm>
#include <array>
#include <optional>

#include <arpa/inet.h>
#include <sys/un.h>

#include "protocols/message/target.h"
#include "protocols/wire/ascii.h"

namespace pontage::config {
namespace {

struct Scheme {
  std::string_view name;
  Adapter adapter;
  std::uint16_t port;
  bool tls = false;
};
// The first of an adapter is its name.
constexpr std::array<Scheme, 6> kSchemes{{{"http", Adapter::http, 80},
                                          {"https", Adapter::http, 443, true},
                                          {"ajp", Adapter::ajp, 8009},
                                          {"fastcgi", Adapter::fastcgi, 9000},
                                          {"scgi", Adapter::scgi, 4000},
                                          {"uwsgi", Adapter::uwsgi, 3031}}};
constexpr std::string_view kKnownSchemes =
    "the known ones are http://, https://, ajp://, fastcgi://, scgi://, uwsgi://, and each with +unix:/path";

std::string unix_path_error(std::string_view path) {
  if (path.size() < 2 || path.front() != '/') return "a unix socket needs an absolute path";
  if (path.size() >= sizeof(sockaddr_un::sun_path))
    return "the unix socket's path is longer than the 107 bytes the system allows";
  return {};
}

std::optional<int> port_of(std::string_view text) {
  const auto value = parse_integer(text);
  if (!value || *value < 0 || *value > 65535) return std::nullopt;
  return static_cast<int>(*value);
}

// 4 or 6; 0 when it is no literal address.
int ip_version(std::string_view text) {
  const std::string copy(text);
  unsigned char bytes[16];
  if (inet_pton(AF_INET, copy.c_str(), bytes) == 1) return 4;
  return inet_pton(AF_INET6, copy.c_str(), bytes) == 1 ? 6 : 0;
}

Parsed<ServerUrl> parse_authority_part(ServerUrl url, std::string_view rest, std::uint16_t default_port) {
  if (rest.find('@') != std::string_view::npos) return bad("a server's URL has no user name and no password");
  const auto slash = rest.find_first_of("/?#");
  if (slash != std::string_view::npos && rest.substr(slash) != "/") {
    return bad(
        "a server's URL ends after the port; to put a path in front use the route's `rewrite: { add_prefix: /path }`");
  }
  const auto authority = message::parse_authority(rest.substr(0, slash));
  if (!authority) return bad("expected SCHEME://HOST:PORT with a port of at most 65535 (an IPv6 address in brackets)");
  auto host = authority->host;
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  url.host = lower(host);
  url.port = authority->port != 0 ? authority->port : default_port;
  return url;
}

}  // namespace

std::string_view to_string(Adapter adapter) noexcept {
  for (const auto& known : kSchemes) {
    if (known.adapter == adapter) return known.name;
  }
  if (adapter == Adapter::cgi) return "cgi";  // an action of routes: it has no URL
  return {};
}

bool speaks_cgi(Adapter adapter) noexcept {
  return adapter != Adapter::http && adapter != Adapter::ajp;
}

Parsed<ServerUrl> parse_server_url(std::string_view text) {
  const auto colon = text.find(':');
  const auto scheme = lower(text.substr(0, colon == std::string_view::npos ? 0 : colon));
  for (const auto& known : kSchemes) {
    ServerUrl url;
    url.adapter = known.adapter;
    url.tls = known.tls;
    url.text = std::string(text);
    if (scheme == known.name) {
      if (!text.substr(colon).starts_with("://")) return bad("expected `//` after `" + scheme + ":`");
      return parse_authority_part(std::move(url), text.substr(colon + 3), known.port);
    }
    if (scheme != std::string(known.name) + "+unix") continue;
    auto path = text.substr(colon + 1);
    if (path.starts_with("///")) path.remove_prefix(2);
    if (auto error = unix_path_error(path); !error.empty()) return bad(std::move(error));
    url.unix_path = std::string(path);
    return url;
  }
  const bool has_scheme = colon != std::string_view::npos && text.substr(colon).starts_with(":/");
  if (!has_scheme) return bad("a server is a URL with a scheme: " + std::string(kKnownSchemes));
  return bad("unknown scheme `" + scheme + "`: " + std::string(kKnownSchemes));
}

std::string default_server_name(const ServerUrl& url) {
  if (!url.unix_path.empty()) return url.unix_path;
  const bool v6 = url.host.find(':') != std::string::npos;
  return (v6 ? "[" + url.host + "]" : url.host) + ":" + std::to_string(url.port);
}

bool is_loopback(const ServerUrl& url) noexcept {
  return !url.unix_path.empty() || url.host == "localhost" || url.host == "::1" ||
         (url.host.starts_with("127.") && ip_version(url.host) == 4);
}

std::string bind_error(std::string_view text) {
  constexpr std::string_view kShape = "expected `:80`, `127.0.0.1:80`, `[::1]:80` or `unix:/path`";
  if (text.starts_with("unix:")) return unix_path_error(text.substr(5));
  if (text.find("://") != std::string_view::npos)
    return "an address to listen on has no scheme: " + std::string(kShape);
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return std::string(kShape) + (port_of(text) ? "; did you mean `:" + std::string(text) + "`?" : "");
  const auto host = text.substr(0, colon);
  if (!port_of(text.substr(colon + 1))) return "the port is a number from 0 to 65535: " + std::string(kShape);
  if (host.empty() || host == "*" || host == "localhost" || ip_version(host) == 4) return {};
  if (host.front() == '[' && host.back() == ']' && ip_version(host.substr(1, host.size() - 2)) == 6) return {};
  if (host.find(':') != std::string_view::npos) return "an IPv6 address stands in brackets: " + std::string(kShape);
  return "a listener takes a literal address, it resolves no names: " + std::string(kShape);
}

std::string inherited_name_error(std::string_view name) {
  const bool fine = !name.empty() && name.size() <= 255 &&
                    std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7f && c != ':'; });
  return fine ? std::string{}
              : "`fd:` is followed by a socket's name (FileDescriptorName=): 1 to 255 characters without `:`";
}

std::string network_error(std::string_view text) {
  const auto slash = text.find('/');
  const int version = ip_version(text.substr(0, slash));
  if (version == 0) return "expected an address or a block such as 10.0.0.0/8 or fd00::/8";
  if (slash == std::string_view::npos) return {};
  const auto bits = parse_integer(text.substr(slash + 1));
  const int most = version == 4 ? 32 : 128;
  if (!bits || *bits < 0 || *bits > most) return "the prefix length is a number from 0 to " + std::to_string(most);
  return {};
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), wire::to_lower);
  return out;
}

}  // namespace pontage::config
