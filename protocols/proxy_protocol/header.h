// What a PROXY header says (HAProxy's proxy-protocol.txt, versions 1 and 2): whose connection it is that a proxy passes
// on, and what the proxy knows of it. Plain values; views live as long as what they were decoded from. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pontage::proxy_protocol {

// A line of version 1, with its CRLF; the specification's own bound.
inline constexpr std::size_t kLargestV1 = 107;
// A header of version 2, all of it. The length field allows 64 KiB; what the specification defines fits 1.5 KiB (unix
// paths, a host, an id, TLS with a name), and proxies of clouds add some hundred bytes.
inline constexpr std::size_t kLargestV2 = 4096;
inline constexpr std::size_t kLongestUniqueId = 128;
inline constexpr std::size_t kUnixPath = 108;  // as on the wire, filled up with NULs

enum class Version : std::uint8_t { v1 = 1, v2 = 2 };
// `local`: the proxy itself asks, as for a health check; the addresses are those of the connection.
enum class Command : std::uint8_t { local, proxy };
// `unspecified`: nothing is said; the addresses are those of the connection, too.
enum class Family : std::uint8_t { unspecified, ipv4, ipv6, unix_path };

struct Endpoint {
  std::array<unsigned char, 16> ip{};  // in network order; of IPv4 the first four
  std::uint16_t port = 0;
  std::string_view path{};  // of unix_path, without the NULs at its end
};

// The bits of Tls::client.
inline constexpr std::uint8_t kClientTls = 1;             // the client speaks TLS
inline constexpr std::uint8_t kClientCertConnection = 2;  // it showed a certificate on this connection
inline constexpr std::uint8_t kClientCertSession = 4;     // it did so in this TLS session

struct Tls {
  std::uint8_t client = 0;
  std::uint32_t verify = 1;  // 0: it showed a certificate, which was found good
  std::string_view version{};
  std::string_view common_name{};
  std::string_view cipher{};
};

struct Header {
  Version version = Version::v2;
  Command command = Command::proxy;
  Family family = Family::unspecified;
  Endpoint source{};
  Endpoint destination{};
  // Version 2 only; empty: not said.
  std::string_view alpn{};
  std::string_view authority{};  // the host the client named, as in TLS's server_name
  std::string_view unique_id{};
  std::optional<Tls> tls{};
};

}  // namespace pontage::proxy_protocol
