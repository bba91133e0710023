#include "protocols/cgi/response_encoder.h"

#include "protocols/http1/encoder.h"
#include "protocols/message/status.h"

namespace pontage::cgi {

std::size_t response_head_room(const message::ResponseHead& head) noexcept {
  constexpr std::size_t kAround = 128;  // status, length and the empty line
  std::size_t room = kAround;
  for (const auto& field : head.headers) room += field.name.size() + field.value.size() + 4;
  return room;
}

void encode_response_head(wire::Sink& sink, const message::ResponseHead& head, StatusStyle style) {
  if (style == StatusStyle::line) {
    http1::encode_status_line(sink, message::kHttp11, head.status);
  } else {
    sink.append("Status: ");
    sink.append_decimal(static_cast<std::uint64_t>(head.status));
    sink.append(' ');
    sink.append(message::reason_phrase(head.status));
    sink.append("\r\n");
  }
  for (const auto& field : head.headers) http1::encode_field(sink, field.name, field.value);
  if (head.body.kind == message::BodyKind::exact) http1::encode_framing(sink, head.body);
  http1::encode_end_of_head(sink);
}

}  // namespace pontage::cgi
