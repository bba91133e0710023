#include "protocols/ajp13/request_encoder.h"

#include <algorithm>

#include "protocols/ajp13/fields.h"
#include "protocols/ajp13/measure.h"
#include "protocols/ajp13/strings.h"

namespace pontage::ajp13 {
namespace {

using message::BodyKind;
using message::HeaderId;

constexpr std::string_view kEnd("\x12\x34\x00\x00", 4);
constexpr std::string_view kPing("\x12\x34\x00\x01\x0a", 5);

bool is_sendable_path(std::string_view path) noexcept {
  return !path.empty() && std::all_of(path.begin(), path.end(), [](char c) { return is_target_char(c) && c != '?'; });
}

bool is_sendable_query(std::string_view query) noexcept {
  return std::all_of(query.begin(), query.end(), is_target_char);
}

bool has_code(message::Method method) noexcept {
  const auto code = static_cast<std::uint8_t>(method);
  return code >= 1 && code <= kLastMethodCode;
}

bool is_framing(HeaderId id) noexcept {
  return id == HeaderId::content_length || id == HeaderId::transfer_encoding;
}

template <class Out>
void write_protocol(Out& out, const ForwardRequest& request) {
  if (!request.protocol.empty()) return append_string(out, request.protocol);
  const auto version = request.head.version;
  const char text[] = {'H', 'T',
                       'T', 'P',
                       '/', static_cast<char>('0' + version.major % 10),
                       '.', static_cast<char>('0' + version.minor % 10)};
  append_string(out, std::string_view(text, sizeof text));
}

template <class Out>
void write_headers(Out& out, const ForwardRequest& request) {
  const auto count_at = out.size();
  out.append_u16be(0);
  std::size_t count = 0;
  const auto& body = request.head.body;
  if (body.kind == BodyKind::exact && body.length > 0) {
    out.append_u16be(request_header_code(HeaderId::content_length));
    append_number(out, body.length);
    ++count;
  }
  for (const auto& field : request.headers) {
    if (is_framing(field.id)) continue;
    append_field(out, request_header_code(field.id), field.name, field.value);
    ++count;
  }
  if (!out.overflowed()) out.patch_u16be(count_at, static_cast<std::uint16_t>(count));
}

template <class Out>
void write_attribute(Out& out, AttributeCode code, std::string_view value) {
  if (value.empty()) return;
  out.append_u8(static_cast<std::uint8_t>(code));
  append_string(out, value);
}

template <class Out>
void write_named(Out& out, std::string_view name, std::string_view value) {
  out.append_u8(static_cast<std::uint8_t>(AttributeCode::req_attribute));
  append_string(out, name);
  append_string(out, value);
}

template <class Out>
void write_tls(Out& out, const TlsFacts& tls) {
  write_attribute(out, AttributeCode::ssl_cert, tls.certificate);
  write_attribute(out, AttributeCode::ssl_cipher, tls.cipher);
  write_attribute(out, AttributeCode::ssl_session, tls.session);
  if (tls.key_size != 0) {
    out.append_u8(static_cast<std::uint8_t>(AttributeCode::ssl_key_size));
    out.append_u16be(tls.key_size);
  }
  if (!tls.protocol.empty()) write_named(out, "AJP_SSL_PROTOCOL", tls.protocol);
}

template <class Out>
void write_attributes(Out& out, const ForwardRequest& request) {
  write_attribute(out, AttributeCode::remote_user, request.remote_user);
  write_attribute(out, AttributeCode::auth_type, request.auth_type);
  if (request.has_query) {
    out.append_u8(static_cast<std::uint8_t>(AttributeCode::query_string));
    append_string(out, request.query);
  }
  write_attribute(out, AttributeCode::route, request.route);
  if (request.is_tls) write_tls(out, request.tls);
  out.append_u8(static_cast<std::uint8_t>(AttributeCode::req_attribute));
  append_string(out, "AJP_REMOTE_PORT");
  append_number(out, request.remote_port);
  write_named(out, "AJP_LOCAL_ADDR", request.local_addr);
  if (!request.activation.empty()) write_named(out, "JK_LB_ACTIVATION", request.activation);
  for (const auto& extra : request.attributes) write_named(out, extra.name, extra.value);
  write_attribute(out, AttributeCode::secret, request.secret);
  if (!has_code(request.head.method)) {
    const auto known = message::to_string(request.head.method);
    write_attribute(out, AttributeCode::stored_method, known.empty() ? request.head.method_text : known);
  }
  out.append_u8(static_cast<std::uint8_t>(AttributeCode::end));
}

template <class Out>
void write_packet(Out& out, const ForwardRequest& request) {
  out.append_u16be(kToContainer);
  out.append_u16be(0);
  out.append_u8(static_cast<std::uint8_t>(PacketType::forward_request));
  const auto method = request.head.method;
  out.append_u8(has_code(method) ? static_cast<std::uint8_t>(method) : kStoredMethod);
  write_protocol(out, request);
  append_string(out, request.path);
  append_string(out, request.remote_addr);
  append_string(out, request.remote_addr);  // as remote_host: saves the container a reverse look-up (A12)
  append_string(out, request.server_name);
  out.append_u16be(request.server_port);
  out.append_u8(request.is_tls ? 1 : 0);
  write_headers(out, request);
  write_attributes(out, request);
}

}  // namespace

wire::Expected<void, EncodeRefusal> encode_forward_request(wire::Sink& sink, const ForwardRequest& request,
                                                           std::size_t packet_size) {
  if (const auto* field = unencodable(request.headers)) {
    return wire::Unexpected(EncodeRefusal{EncodeRefusal::Reason::unencodable_name, field->name,
                                          field->name.size() + field->value.size(), 0});
  }
  if (!is_sendable_path(request.path) || !is_sendable_query(request.query)) {
    return wire::Unexpected(EncodeRefusal{EncodeRefusal::Reason::bad_target, {}, 0, 0});
  }
  const auto start = sink.size();
  write_packet(sink, request);
  const auto size = sink.size() - start;
  if (sink.overflowed() || size > packet_size) {
    sink.truncate(start);
    Measure measure;
    write_packet(measure, request);
    return wire::Unexpected(refusal(measure.size(), packet_size, request.headers));
  }
  sink.patch_u16be(start + 2, static_cast<std::uint16_t>(size - kPacketHeader));
  return {};
}

std::array<char, kBodyHeader> body_header(std::size_t n) noexcept {
  const auto payload = n + 2;
  return {'\x12',
          '\x34',
          static_cast<char>(payload >> 8),
          static_cast<char>(payload & 0xff),
          static_cast<char>(n >> 8),
          static_cast<char>(n & 0xff)};
}

std::size_t encode_body_packet(wire::Sink& sink, std::string_view data, std::size_t packet_size) {
  const auto n = std::min(data.size(), request_data_room(packet_size));
  if (n == 0) return 0;
  const auto header = body_header(n);
  sink.append(std::string_view(header.data(), header.size()));
  sink.append(data.substr(0, n));
  return n;
}

void encode_body_end(wire::Sink& sink) {
  sink.append(kEnd);
}

void encode_cping(wire::Sink& sink) {
  sink.append(kPing);
}

}  // namespace pontage::ajp13
