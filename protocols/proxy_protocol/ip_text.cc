#include "protocols/proxy_protocol/ip_text.h"

#include <algorithm>
#include <cstddef>

#include "protocols/wire/ascii.h"

namespace pontage::proxy_protocol {
namespace {

constexpr std::size_t kGroups = 8;

// What stands before the next `mark`, which goes with it; the whole rest without one.
std::string_view next(std::string_view& rest, char mark) noexcept {
  const auto end = rest.find(mark);
  const auto word = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return word;
}

// Groups between colons, as 16-bit numbers in `out`; how many, or nullopt. The last may be an IPv4 address, for two.
std::optional<std::size_t> parse_groups(std::string_view text, unsigned char* out, std::size_t most) noexcept {
  std::size_t groups = 0;
  if (text.empty()) return groups;
  if (text.back() == ':') return std::nullopt;
  while (!text.empty()) {
    const bool last = text.find(':') == std::string_view::npos;
    const auto word = next(text, ':');
    if (last && word.find('.') != std::string_view::npos) {
      const auto v4 = parse_ipv4(word);
      if (!v4 || groups + 2 > most) return std::nullopt;
      std::copy_n(v4->begin(), 4, out + groups * 2);
      return groups + 2;
    }
    if (word.empty() || word.size() > 4 || groups == most) return std::nullopt;
    unsigned value = 0;
    for (const char c : word) {
      const int digit = wire::hex_value(c);
      if (digit < 0) return std::nullopt;
      value = value * 16 + static_cast<unsigned>(digit);
    }
    out[groups * 2] = static_cast<unsigned char>(value >> 8);
    out[groups * 2 + 1] = static_cast<unsigned char>(value);
    ++groups;
  }
  return groups;
}

}  // namespace

std::optional<Ip> parse_ipv4(std::string_view text) noexcept {
  Ip ip{};
  if (std::count(text.begin(), text.end(), '.') != 3) return std::nullopt;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto word = next(text, '.');
    const auto value = word.size() <= 3 ? wire::parse_decimal(word) : std::nullopt;
    if (!value || *value > 255 || (word.size() > 1 && word.front() == '0')) return std::nullopt;
    ip[i] = static_cast<unsigned char>(*value);
  }
  return ip;
}

std::optional<Ip> parse_ipv6(std::string_view text) noexcept {
  Ip ip{};
  const auto gap = text.find("::");
  if (gap == std::string_view::npos) {
    const auto groups = parse_groups(text, ip.data(), kGroups);
    return groups && *groups == kGroups ? std::optional(ip) : std::nullopt;
  }
  if (text.substr(0, gap).find('.') != std::string_view::npos) return std::nullopt;
  const auto before = parse_groups(text.substr(0, gap), ip.data(), kGroups - 1);
  if (!before) return std::nullopt;
  Ip tail{};
  const auto after = parse_groups(text.substr(gap + 2), tail.data(), kGroups - 1 - *before);
  if (!after) return std::nullopt;
  std::copy_n(tail.begin(), *after * 2, ip.end() - static_cast<std::ptrdiff_t>(*after * 2));
  return ip;
}

void append_ipv4(wire::Sink& sink, const Ip& ip) {
  for (std::size_t i = 0; i < 4; ++i) {
    if (i > 0) sink.append('.');
    sink.append_decimal(ip[i]);
  }
}

void append_ipv6(wire::Sink& sink, const Ip& ip) {
  std::array<unsigned, kGroups> groups{};
  for (std::size_t i = 0; i < kGroups; ++i) groups[i] = static_cast<unsigned>(ip[i * 2] << 8 | ip[i * 2 + 1]);
  std::size_t gap = kGroups;
  std::size_t longest = 1;  // one group alone is written out
  for (std::size_t i = 0; i < kGroups; ++i) {
    std::size_t run = 0;
    while (i + run < kGroups && groups[i + run] == 0) ++run;
    if (run > longest) {
      longest = run;
      gap = i;
    }
  }
  for (std::size_t i = 0; i < kGroups; ++i) {
    if (i == gap) {
      sink.append("::");
      i += longest - 1;
      continue;
    }
    if (i > 0 && i != gap + longest) sink.append(':');
    sink.append_hex(groups[i]);
  }
}

}  // namespace pontage::proxy_protocol
