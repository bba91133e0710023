#include "protocols/message/head.h"

#include <algorithm>

#include "protocols/wire/ascii.h"

namespace pontage::message {

using wire::DecodeError;

std::optional<DecodeError> settle_authority(RequestHead& head, std::string_view server_name, std::uint16_t server_port,
                                            Arena& arena) {
  const auto hosts = head.headers.count(HeaderId::host);
  if (hosts > 1) return DecodeError::duplicate_host;
  head.authority = hosts == 1 ? head.headers.value(HeaderId::host) : server_name;
  head.port = hosts == 1 ? std::uint16_t{0} : server_port;
  if (head.authority.empty()) return std::nullopt;
  const auto parsed = parse_authority(head.authority);
  if (!parsed) return DecodeError::malformed_host;
  auto host = parsed->host;
  if (host.ends_with('.')) host.remove_suffix(1);
  const auto lower = arena.chars(host.size());
  std::transform(host.begin(), host.end(), lower.begin(), wire::to_lower);
  head.host = {lower.data(), lower.size()};
  if (parsed->port != 0) head.port = parsed->port;
  return std::nullopt;
}

}  // namespace pontage::message
