#include "src/net/address.h"

#include <charconv>
#include <cstddef>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace pontage::net {
namespace {

std::optional<std::uint16_t> parse_port(std::string_view text) noexcept {
  unsigned value = 0;
  const auto done = std::from_chars(text.data(), text.data() + text.size(), value);
  if (done.ec != std::errc{} || done.ptr != text.data() + text.size() || value > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(value);
}

// The address bytes (4 or 16) with IPv4 mapped into IPv6 unwrapped; 0 for unix.
int address_bytes(const sockaddr* raw, unsigned char* out) noexcept {
  if (raw->sa_family == AF_INET) {
    std::memcpy(out, &reinterpret_cast<const sockaddr_in*>(raw)->sin_addr, 4);
    return 4;
  }
  if (raw->sa_family != AF_INET6) return 0;
  const auto& v6 = reinterpret_cast<const sockaddr_in6*>(raw)->sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) {
    std::memcpy(out, v6.s6_addr + 12, 4);
    return 4;
  }
  std::memcpy(out, v6.s6_addr, 16);
  return 16;
}

}  // namespace

std::optional<Address> Address::from_ip(std::string_view ip, std::uint16_t port) noexcept {
  char text[INET6_ADDRSTRLEN + 1];
  if (ip.size() >= sizeof text) return std::nullopt;
  std::memcpy(text, ip.data(), ip.size());
  text[ip.size()] = '\0';
  Address address;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage_);
  if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    address.size_ = sizeof v4;
    return address;
  }
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage_);
  if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    address.size_ = sizeof v6;
    return address;
  }
  return std::nullopt;
}

Address Address::from_bytes(std::span<const unsigned char> ip, std::uint16_t port) noexcept {
  Address address;
  if (ip.size() == 4) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage_);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, ip.data(), 4);
    address.size_ = sizeof v4;
  } else {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage_);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, ip.data(), 16);
    address.size_ = sizeof v6;
  }
  return address;
}

std::optional<Address> Address::from_unix(std::string_view path) noexcept {
  Address address;
  auto& un = reinterpret_cast<sockaddr_un&>(address.storage_);
  if (path.empty() || path.size() >= sizeof un.sun_path) return std::nullopt;
  un.sun_family = AF_UNIX;
  std::memcpy(un.sun_path, path.data(), path.size());
  address.size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return address;
}

Address Address::from_raw(const sockaddr* raw, socklen_t size) noexcept {
  Address address;
  if (size > sizeof address.storage_) size = sizeof address.storage_;
  std::memcpy(&address.storage_, raw, size);
  address.size_ = size;
  return address;
}

std::optional<Address> Address::from_bind(std::string_view text) noexcept {
  if (text.starts_with("unix:")) return from_unix(text.substr(5));
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = parse_port(text.substr(colon + 1));
  if (!port) return std::nullopt;
  auto host = text.substr(0, colon);
  if (host.empty() || host == "*") return from_ip("::", *port);
  if (host == "localhost") return from_ip("127.0.0.1", *port);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return from_ip(host, *port);
}

bool Address::is_loopback() const noexcept {
  unsigned char bytes[16];
  const int n = address_bytes(raw(), bytes);
  if (n == 4) return bytes[0] == 127;
  if (n == 16) return IN6_IS_ADDR_LOOPBACK(reinterpret_cast<const in6_addr*>(bytes));
  return is_unix();
}

std::uint16_t Address::port() const noexcept {
  if (family() == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
  if (family() == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port);
  return 0;
}

std::size_t Address::ip_bytes(std::span<unsigned char, 16> out) const noexcept {
  return static_cast<std::size_t>(address_bytes(raw(), out.data()));
}

std::string Address::ip_text() const {
  unsigned char bytes[16];
  char text[INET6_ADDRSTRLEN];
  const int n = address_bytes(raw(), bytes);
  if (n == 0) return "unix:";
  return inet_ntop(n == 4 ? AF_INET : AF_INET6, bytes, text, sizeof text);
}

std::string Address::text() const {
  if (is_unix()) {
    const auto* un = reinterpret_cast<const sockaddr_un*>(&storage_);
    const std::size_t room = size_ > offsetof(sockaddr_un, sun_path) ? size_ - offsetof(sockaddr_un, sun_path) : 0;
    return "unix:" + std::string(un->sun_path, strnlen(un->sun_path, room));
  }
  const std::string ip = ip_text();
  const std::string host = ip.find(':') == std::string::npos ? ip : "[" + ip + "]";
  return host + ":" + std::to_string(port());
}

bool operator==(const Address& a, const Address& b) noexcept {
  return a.size_ == b.size_ && std::memcmp(&a.storage_, &b.storage_, a.size_) == 0;
}

std::optional<Network> Network::parse(std::string_view text) noexcept {
  const auto slash = text.find('/');
  const auto address = Address::from_ip(text.substr(0, slash), 0);
  if (!address) return std::nullopt;
  Network network;
  const int n = address_bytes(address->raw(), network.bytes_);
  network.v6_ = n == 16;
  network.bits_ = n * 8;
  if (slash == std::string_view::npos) return network;
  const auto bits = parse_port(text.substr(slash + 1));
  if (!bits || *bits > network.bits_) return std::nullopt;
  network.bits_ = *bits;
  return network;
}

bool Network::contains(const Address& address) const noexcept {
  unsigned char bytes[16];
  const int n = address_bytes(address.raw(), bytes);
  if (n == 0 || (n == 16) != v6_) return false;
  const int whole = bits_ / 8;
  if (std::memcmp(bytes, bytes_, static_cast<std::size_t>(whole)) != 0) return false;
  const int rest = bits_ % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<unsigned char>(0xff << (8 - rest));
  return (bytes[whole] & mask) == (bytes_[whole] & mask);
}

}  // namespace pontage::net
