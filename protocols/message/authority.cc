// The authority part of target.h: host[:port] (RFC 3986 3.2.2).
#include <array>
#include <cstddef>

#include "protocols/message/target.h"
#include "protocols/wire/ascii.h"

namespace pontage::message {
namespace {

using wire::DecodeError;

// unreserved and sub-delims without the comma, which would make a Host look like a list; '%' is checked apart.
constexpr std::array<bool, 256> make_host_table() {
  std::array<bool, 256> table{};
  for (unsigned c = 0x21; c < 0x7f; ++c) {
    const char ch = static_cast<char>(c);
    table[c] = wire::is_alpha(ch) || wire::is_digit(ch) ||
               std::string_view("-._~!$&'()*+;=").find(ch) != std::string_view::npos;
  }
  return table;
}
constexpr std::array<bool, 256> kHostChar = make_host_table();

bool is_reg_name(std::string_view host) noexcept {
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (kHostChar[static_cast<unsigned char>(host[i])]) continue;
    if (host[i] != '%' || i + 2 >= host.size()) return false;
    if (wire::hex_value(host[i + 1]) < 0 || wire::hex_value(host[i + 2]) < 0) return false;
    i += 2;
  }
  return !host.empty();
}

// dec-octet four times, without leading zeros.
bool is_ipv4(std::string_view text) noexcept {
  for (int part = 0; part < 4; ++part) {
    const auto dot = part < 3 ? text.find('.') : text.size();
    if (dot == std::string_view::npos || dot == 0 || dot > 3) return false;
    const auto octet = wire::parse_decimal(text.substr(0, dot));
    if (!octet || *octet > 255 || (dot > 1 && text[0] == '0')) return false;
    text.remove_prefix(part < 3 ? dot + 1 : dot);
  }
  return text.empty();
}

bool is_h16(std::string_view group) noexcept {
  if (group.empty() || group.size() > 4) return false;
  for (const char c : group) {
    if (wire::hex_value(c) < 0) return false;
  }
  return true;
}

// Groups separated by single colons; -1 when malformed, else how many 16-bit groups. `text` may be empty.
int count_groups(std::string_view text, bool may_end_in_ipv4) noexcept {
  int groups = 0;
  while (!text.empty()) {
    const auto colon = text.find(':');
    const auto group = text.substr(0, colon);
    const bool last = colon == std::string_view::npos;
    if (last && may_end_in_ipv4 && is_ipv4(group)) return groups + 2;
    if (!is_h16(group)) return -1;
    ++groups;
    if (last) break;
    text.remove_prefix(colon + 1);
    if (text.empty()) return -1;
  }
  return groups;
}

// What stands between the brackets. Zone ids (RFC 6874) mean nothing to another host and are refused.
bool is_ipv6(std::string_view text) noexcept {
  const auto gap = text.find("::");
  if (gap == std::string_view::npos) return count_groups(text, true) == 8;
  const int before = count_groups(text.substr(0, gap), false);
  const int after = count_groups(text.substr(gap + 2), true);
  return before >= 0 && after >= 0 && before + after <= 7;
}

}  // namespace

wire::Expected<Authority, DecodeError> parse_authority(std::string_view text) noexcept {
  const auto refuse = wire::Unexpected(DecodeError::malformed_host);
  Authority out;
  std::size_t end = 0;  // of the host
  if (!text.empty() && text[0] == '[') {
    end = text.find(']');
    if (end == std::string_view::npos || !is_ipv6(text.substr(1, end - 1))) return refuse;
    ++end;
  } else {
    end = text.find(':');
    if (end == std::string_view::npos) end = text.size();
    if (!is_reg_name(text.substr(0, end))) return refuse;
  }
  out.host = text.substr(0, end);
  if (end == text.size()) return out;
  if (text[end] != ':') return refuse;
  const auto digits = text.substr(end + 1);
  if (digits.empty()) return out;  // RFC 3986 3.2.3: a port may be empty
  const auto port = wire::parse_decimal(digits);
  if (!port || *port == 0 || *port > 65535) return refuse;
  out.port = static_cast<std::uint16_t>(*port);
  return out;
}

}  // namespace pontage::message
