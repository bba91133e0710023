#include "protocols/proxy_protocol/encoder.h"

#include "protocols/proxy_protocol/ip_text.h"
#include "protocols/proxy_protocol/read.h"

namespace pontage::proxy_protocol {
namespace {

constexpr std::size_t kFieldHead = 3;  // type and length

void encode_v1(wire::Sink& sink, const Header& header) {
  const bool v4 = header.family == Family::ipv4;
  sink.append(kBeginningV1);
  if (header.command == Command::local || (!v4 && header.family != Family::ipv6)) {
    sink.append("UNKNOWN\r\n");
    return;
  }
  const auto append_ip = v4 ? &append_ipv4 : &append_ipv6;
  sink.append(v4 ? "TCP4 " : "TCP6 ");
  append_ip(sink, header.source.ip);
  sink.append(' ');
  append_ip(sink, header.destination.ip);
  sink.append(' ');
  sink.append_decimal(header.source.port);
  sink.append(' ');
  sink.append_decimal(header.destination.port);
  sink.append("\r\n");
}

void append_ips(wire::Sink& sink, const Header& header, std::size_t size) {
  for (const auto* end : {&header.source, &header.destination}) {
    sink.append({reinterpret_cast<const char*>(end->ip.data()), size});
  }
  sink.append_u16be(header.source.port);
  sink.append_u16be(header.destination.port);
}

void append_path(wire::Sink& sink, std::string_view path) {
  sink.append(path);
  for (std::size_t i = path.size(); i < kUnixPath; ++i) sink.append('\0');
}

void append_addresses(wire::Sink& sink, const Header& header) {
  switch (header.family) {
    case Family::unspecified: return;
    case Family::ipv4: return append_ips(sink, header, 4);
    case Family::ipv6: return append_ips(sink, header, 16);
    case Family::unix_path:
      append_path(sink, header.source.path);
      append_path(sink, header.destination.path);
      return;
  }
}

std::uint8_t family_code(Family family) noexcept {
  switch (family) {
    case Family::unspecified: return 0x00;
    case Family::ipv4: return 0x11;
    case Family::ipv6: return 0x21;
    case Family::unix_path: return 0x31;
  }
  return 0;
}

void append_field(wire::Sink& sink, Type type, std::string_view value) {
  if (value.empty()) return;
  sink.append_u8(static_cast<std::uint8_t>(type));
  sink.append_u16be(static_cast<std::uint16_t>(value.size()));
  sink.append(value);
}

void append_tls(wire::Sink& sink, const Tls& tls) {
  sink.append_u8(static_cast<std::uint8_t>(Type::ssl));
  const std::size_t length = sink.size();
  sink.append_u16be(0);
  sink.append_u8(tls.client);
  sink.append_u16be(static_cast<std::uint16_t>(tls.verify >> 16));
  sink.append_u16be(static_cast<std::uint16_t>(tls.verify));
  append_field(sink, Type::ssl_version, tls.version);
  append_field(sink, Type::ssl_common_name, tls.common_name);
  append_field(sink, Type::ssl_cipher, tls.cipher);
  sink.patch_u16be(length, static_cast<std::uint16_t>(sink.size() - length - 2));
}

void encode_v2(wire::Sink& sink, const Header& header) {
  const std::size_t begin = sink.size();
  sink.append(kSignatureV2);
  sink.append_u8(static_cast<std::uint8_t>(0x20 | static_cast<unsigned>(header.command)));
  const bool local = header.command == Command::local;
  sink.append_u8(local ? 0 : family_code(header.family));
  sink.append_u16be(0);
  if (local) return;
  append_addresses(sink, header);
  append_field(sink, Type::alpn, header.alpn);
  append_field(sink, Type::authority, header.authority);
  append_field(sink, Type::unique_id, header.unique_id);
  if (header.tls) append_tls(sink, *header.tls);
  if (sink.overflowed()) return;
  sink.patch_u16be(begin + kFixedV2 - 2, static_cast<std::uint16_t>(sink.size() - begin - kFixedV2));
}

}  // namespace

std::size_t room(const Header& header) noexcept {
  if (header.version == Version::v1) return kLargestV1;
  std::size_t size = kFixedV2 + 2 * kUnixPath + header.alpn.size() + header.authority.size() + header.unique_id.size() +
                     4 * kFieldHead;
  if (header.tls) {
    size +=
        5 + 3 * kFieldHead + header.tls->version.size() + header.tls->common_name.size() + header.tls->cipher.size();
  }
  return size;
}

void encode(wire::Sink& sink, const Header& header) {
  if (header.version == Version::v1) {
    encode_v1(sink, header);
  } else {
    encode_v2(sink, header);
  }
}

}  // namespace pontage::proxy_protocol
