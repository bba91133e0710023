#include "protocols/ajp13/response_encoder.h"

#include <algorithm>

#include "protocols/ajp13/fields.h"
#include "protocols/ajp13/measure.h"
#include "protocols/ajp13/strings.h"

namespace pontage::ajp13 {
namespace {

using message::BodyKind;
using message::HeaderId;

// With the NUL that Tomcat sends too.
constexpr std::string_view kFlush("AB\x00\x04\x03\x00\x00\x00", 8);
constexpr std::string_view kPong("AB\x00\x01\x09", 5);

void start_packet(wire::Sink& sink, std::size_t payload, PacketType type) {
  sink.append_u16be(kToGateway);
  sink.append_u16be(static_cast<std::uint16_t>(payload));
  sink.append_u8(static_cast<std::uint8_t>(type));
}

template <class Out>
void write_headers(Out& out, const message::ResponseHead& head) {
  const auto count_at = out.size();
  out.append_u16be(0);
  std::size_t count = 0;
  const bool is_exact = head.body.kind == BodyKind::exact;
  if (is_exact) {
    out.append_u16be(response_header_code(HeaderId::content_length));
    append_number(out, head.body.length);
    ++count;
  }
  for (const auto& field : head.headers) {
    if (field.id == HeaderId::transfer_encoding || (is_exact && field.id == HeaderId::content_length)) continue;
    append_field(out, response_header_code(field.id), field.name, field.value);
    ++count;
  }
  if (!out.overflowed()) out.patch_u16be(count_at, static_cast<std::uint16_t>(count));
}

template <class Out>
void write_packet(Out& out, const message::ResponseHead& head) {
  out.append_u16be(kToGateway);
  out.append_u16be(0);
  out.append_u8(static_cast<std::uint8_t>(PacketType::send_headers));
  out.append_u16be(static_cast<std::uint16_t>(head.status));
  append_string(out, head.reason);
  write_headers(out, head);
}

}  // namespace

wire::Expected<void, EncodeRefusal> encode_send_headers(wire::Sink& sink, const message::ResponseHead& head,
                                                        std::size_t packet_size) {
  if (const auto* field = unencodable(head.headers)) {
    return wire::Unexpected(EncodeRefusal{EncodeRefusal::Reason::unencodable_name, field->name,
                                          field->name.size() + field->value.size(), 0});
  }
  const auto start = sink.size();
  write_packet(sink, head);
  const auto size = sink.size() - start;
  if (sink.overflowed() || size > packet_size) {
    sink.truncate(start);
    Measure measure;
    write_packet(measure, head);
    return wire::Unexpected(refusal(measure.size(), packet_size, head.headers));
  }
  sink.patch_u16be(start + 2, static_cast<std::uint16_t>(size - kPacketHeader));
  return {};
}

std::array<char, kChunkHeader> body_chunk_header(std::size_t n) noexcept {
  const auto payload = n + 4;
  return {'A',
          'B',
          static_cast<char>(payload >> 8),
          static_cast<char>(payload & 0xff),
          static_cast<char>(PacketType::send_body_chunk),
          static_cast<char>(n >> 8),
          static_cast<char>(n & 0xff)};
}

std::size_t encode_body_chunk(wire::Sink& sink, std::string_view data, std::size_t packet_size) {
  const auto n = std::min(data.size(), response_data_room(packet_size));
  if (n == 0) return 0;
  const auto header = body_chunk_header(n);
  sink.append(std::string_view(header.data(), header.size()));
  sink.append(data.substr(0, n));
  sink.append_u8(0);
  return n;
}

void encode_flush(wire::Sink& sink) {
  sink.append(kFlush);
}

void encode_get_body_chunk(wire::Sink& sink, std::uint16_t bytes) {
  start_packet(sink, 3, PacketType::get_body_chunk);
  sink.append_u16be(bytes);
}

void encode_end_response(wire::Sink& sink, Reuse reuse) {
  start_packet(sink, 2, PacketType::end_response);
  sink.append_u8(reuse == Reuse::yes ? 1 : 0);
}

void encode_cpong(wire::Sink& sink) {
  sink.append(kPong);
}

}  // namespace pontage::ajp13
