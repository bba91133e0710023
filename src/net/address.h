// A socket address: IPv4, IPv6 or unix path. A value; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <sys/socket.h>
#include <sys/un.h>

namespace pontage::net {

class Address {
 public:
  Address() noexcept = default;
  // A literal IPv4 or IPv6 address (without brackets) and port; nullopt when `ip` is neither.
  static std::optional<Address> from_ip(std::string_view ip, std::uint16_t port) noexcept;
  // 4 bytes are IPv4, 16 IPv6; in network order.
  static Address from_bytes(std::span<const unsigned char> ip, std::uint16_t port) noexcept;
  // nullopt when the path is too long for a sockaddr.
  static std::optional<Address> from_unix(std::string_view path) noexcept;
  static Address from_raw(const sockaddr* address, socklen_t size) noexcept;
  // A listener's "bind" text: ":80", "127.0.0.1:80", "[::1]:80", "unix:/path". ":80" is the IPv6 wildcard, which takes
  // IPv4 too.
  static std::optional<Address> from_bind(std::string_view text) noexcept;

  const sockaddr* raw() const noexcept { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const noexcept { return size_; }
  int family() const noexcept { return storage_.ss_family; }
  bool is_unix() const noexcept { return family() == AF_UNIX; }
  bool is_loopback() const noexcept;
  std::uint16_t port() const noexcept;
  // The bytes that from_bytes takes, into `out`: how many, 4 also for IPv4 mapped into IPv6; 0 for all else.
  std::size_t ip_bytes(std::span<unsigned char, 16> out) const noexcept;
  // The address alone: "127.0.0.1", "::1", "unix:". IPv4 mapped into IPv6 reads as IPv4. Fits 46 bytes.
  std::string ip_text() const;
  // "127.0.0.1:80", "[::1]:80", "unix:/path".
  std::string text() const;

  friend bool operator==(const Address& a, const Address& b) noexcept;

 private:
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

// A block of addresses: "10.0.0.0/8", "::1", "192.0.2.1". IPv4 mapped into IPv6 counts as IPv4.
class Network {
 public:
  static std::optional<Network> parse(std::string_view text) noexcept;
  bool contains(const Address& address) const noexcept;

 private:
  unsigned char bytes_[16] = {};
  bool v6_ = false;
  int bits_ = 0;
};

}  // namespace pontage::net
