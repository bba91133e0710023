#include "protocols/proxy_protocol/ip_text.h"
#include "protocols/proxy_protocol/read.h"
#include "protocols/wire/ascii.h"

namespace pontage::proxy_protocol {

using wire::DecodeError;

namespace {

// What stands before the next space; the rest keeps what is behind that one space. nullopt when there is none.
std::optional<std::string_view> next_word(std::string_view& rest) noexcept {
  const auto end = rest.find(' ');
  if (end == std::string_view::npos) return std::nullopt;
  const auto word = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return word;
}

bool read_port(std::string_view text, std::uint16_t& port) noexcept {
  const auto value = text.size() <= 5 ? wire::parse_decimal(text) : std::nullopt;
  if (!value || *value > 65535 || (text.size() > 1 && text.front() == '0')) return false;
  port = static_cast<std::uint16_t>(*value);
  return true;
}

}  // namespace

std::optional<DecodeError> read_v1(std::string_view line, Header& header) {
  constexpr auto kWrong = DecodeError::malformed_header;
  header.version = Version::v1;
  if (!line.ends_with("\r\n")) return kWrong;
  line.remove_suffix(2);
  line.remove_prefix(kBeginningV1.size());
  // Whatever follows UNKNOWN means nothing.
  if (line == "UNKNOWN" || line.starts_with("UNKNOWN ")) return {};
  const auto protocol = next_word(line);
  if (protocol != "TCP4" && protocol != "TCP6") return kWrong;
  const bool v4 = protocol == "TCP4";
  const auto source = next_word(line);
  const auto destination = source ? next_word(line) : std::nullopt;
  const auto source_port = destination ? next_word(line) : std::nullopt;
  if (!source_port) return kWrong;
  const auto from = v4 ? parse_ipv4(*source) : parse_ipv6(*source);
  const auto to = v4 ? parse_ipv4(*destination) : parse_ipv6(*destination);
  if (!from || !to) return kWrong;
  header.family = v4 ? Family::ipv4 : Family::ipv6;
  header.source.ip = *from;
  header.destination.ip = *to;
  if (!read_port(*source_port, header.source.port) || !read_port(line, header.destination.port)) return kWrong;
  return {};
}

}  // namespace pontage::proxy_protocol
