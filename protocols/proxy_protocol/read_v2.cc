#include <algorithm>

#include "protocols/proxy_protocol/read.h"
#include "protocols/wire/cursor.h"

namespace pontage::proxy_protocol {

using wire::Cursor;
using wire::DecodeError;

namespace {

constexpr std::uint8_t kVersion2 = 2;

std::uint32_t u32be(std::string_view four) noexcept {
  std::uint32_t value = 0;
  for (const char c : four) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

struct Field {
  Type type{};
  std::string_view value;
};

// The next type, length and value; nullopt when they do not fit into what is left.
std::optional<Field> next_field(Cursor& cursor) noexcept {
  const auto type = cursor.u8();
  const auto size = cursor.u16be();
  const auto value = size ? cursor.bytes(*size) : std::nullopt;
  if (!value) return std::nullopt;
  return Field{static_cast<Type>(*type), *value};
}

std::optional<DecodeError> read_tls(std::string_view value, Header& header) {
  Cursor cursor(value);
  const auto client = cursor.u8();
  const auto verify = cursor.bytes(4);
  if (!verify) return DecodeError::bad_length;
  Tls tls{.client = *client, .verify = u32be(*verify)};
  while (cursor.remaining() > 0) {
    const auto field = next_field(cursor);
    if (!field) return DecodeError::bad_length;
    switch (field->type) {
      case Type::ssl_version: tls.version = field->value; break;
      case Type::ssl_common_name: tls.common_name = field->value; break;
      case Type::ssl_cipher: tls.cipher = field->value; break;
      default: break;  // algorithms of its keys and signatures: nobody here asks for them
    }
  }
  header.tls = tls;
  return {};
}

// The checksum is made of the whole header, its own four bytes being 0.
bool is_intact(std::string_view bytes, std::string_view checksum) noexcept {
  const auto at = static_cast<std::size_t>(checksum.data() - bytes.data());
  constexpr std::string_view kZeros{"\0\0\0\0", 4};
  const std::uint32_t crc = crc32c(bytes.substr(at + 4), crc32c(kZeros, crc32c(bytes.substr(0, at))));
  return crc == u32be(checksum);
}

std::optional<DecodeError> read_fields(std::string_view bytes, Cursor& cursor, Header& header) {
  std::string_view checksum;
  while (cursor.remaining() > 0) {
    const auto field = next_field(cursor);
    if (!field) return DecodeError::bad_length;
    switch (field->type) {
      case Type::alpn: header.alpn = field->value; break;
      case Type::authority: header.authority = field->value; break;
      case Type::crc32c:
        if (field->value.size() != 4 || !checksum.empty()) return DecodeError::bad_length;
        checksum = field->value;
        break;
      case Type::unique_id:
        if (field->value.size() > kLongestUniqueId) return DecodeError::bad_length;
        header.unique_id = field->value;
        break;
      case Type::ssl:
        if (const auto error = read_tls(field->value, header)) return error;
        break;
      default: break;  // to be ignored, says the specification
    }
  }
  if (!checksum.empty() && !is_intact(bytes, checksum)) return DecodeError::malformed_header;
  return {};
}

bool read_ips(Cursor& cursor, std::size_t size, Header& header) noexcept {
  const auto source = cursor.bytes(size);
  const auto destination = cursor.bytes(size);
  const auto source_port = cursor.u16be();
  const auto destination_port = cursor.u16be();
  if (!source || !destination || !source_port || !destination_port) return false;
  std::copy(source->begin(), source->end(), header.source.ip.begin());
  std::copy(destination->begin(), destination->end(), header.destination.ip.begin());
  header.source.port = *source_port;
  header.destination.port = *destination_port;
  return true;
}

bool read_paths(Cursor& cursor, Header& header) noexcept {
  const auto source = cursor.bytes(kUnixPath);
  const auto destination = cursor.bytes(kUnixPath);
  if (!source || !destination) return false;
  // An abstract name begins with a NUL, so it is the end that is cut.
  const auto cut = [](std::string_view path) { return path.substr(0, path.find_last_not_of('\0') + 1); };
  header.source.path = cut(*source);
  header.destination.path = cut(*destination);
  return true;
}

}  // namespace

wire::Expected<std::size_t, DecodeError> read_v2_size(std::string_view fixed) {
  Cursor cursor(fixed.substr(kSignatureV2.size()));
  const std::uint8_t command = cursor.u8().value_or(0);
  static_cast<void>(cursor.u8());
  const std::size_t size = kFixedV2 + cursor.u16be().value_or(0);
  if (command >> 4 != kVersion2) return wire::Unexpected(DecodeError::unsupported_version);
  if ((command & 15) > static_cast<std::uint8_t>(Command::proxy)) return wire::Unexpected(DecodeError::unknown_code);
  if (size > kLargestV2) return wire::Unexpected(DecodeError::packet_too_long);
  return size;
}

std::optional<DecodeError> read_v2(std::string_view bytes, Header& header) {
  Cursor cursor(bytes.substr(kSignatureV2.size()));
  header.version = Version::v2;
  header.command = static_cast<Command>(cursor.u8().value_or(0) & 15);
  const std::uint8_t family = cursor.u8().value_or(0);
  static_cast<void>(cursor.u16be());
  if (header.command == Command::local) return {};  // all the rest is to be ignored
  bool fits = true;
  switch (family) {
    case 0x00: break;
    case 0x11:
      header.family = Family::ipv4;
      fits = read_ips(cursor, 4, header);
      break;
    case 0x21:
      header.family = Family::ipv6;
      fits = read_ips(cursor, 16, header);
      break;
    case 0x31:
      header.family = Family::unix_path;
      fits = read_paths(cursor, header);
      break;
    default: return DecodeError::unknown_code;
  }
  if (!fits) return DecodeError::bad_length;
  return read_fields(bytes, cursor, header);
}

}  // namespace pontage::proxy_protocol
