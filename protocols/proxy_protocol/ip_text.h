// Addresses as text, for version 1: as inet_pton and RFC 5952 have them, without the system. Pure; any thread.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "protocols/wire/sink.h"

namespace pontage::proxy_protocol {

using Ip = std::array<unsigned char, 16>;

// Four decimal numbers without leading zeros; in the first four bytes.
std::optional<Ip> parse_ipv4(std::string_view text) noexcept;
// RFC 4291 2.2, all three forms; no zone.
std::optional<Ip> parse_ipv6(std::string_view text) noexcept;
void append_ipv4(wire::Sink& sink, const Ip& ip);
// RFC 5952, without its mixed form: the longest run of zeros is cut short.
void append_ipv6(wire::Sink& sink, const Ip& ip);

}  // namespace pontage::proxy_protocol
