#include "protocols/ajp13/send_headers.h"

#include "protocols/ajp13/fields.h"
#include "protocols/message/framing.h"
#include "protocols/wire/ascii.h"

namespace pontage::ajp13 {

using message::HeaderId;
using wire::DecodeError;

std::optional<DecodeError> read_send_headers(std::string_view payload, const wire::HeadLimits& limits,
                                             message::Arena& arena, message::Method request_method,
                                             message::ResponseHead& head) {
  head = message::ResponseHead{};
  wire::Cursor in(arena.copy(payload));
  in.u8();
  const auto status = in.u16be();
  if (!status) return DecodeError::bad_length;
  // An interim status has no place here: AJP has one head for each request (A22, X7).
  if (*status < 200 || *status > 999) return DecodeError::malformed_status_line;
  head.status = *status;
  const auto reason = read_string(in);
  if (!reason) return DecodeError::bad_string;
  if (wire::is_field_value(*reason)) head.reason = *reason;

  const auto count = in.u16be();
  if (!count) return DecodeError::bad_length;
  head.headers = message::HeaderList(arena);
  if (const auto error = read_fields(in, *count, limits, response_header_of, head.headers)) return error;
  // Leftovers mean that the count and the fields disagree: nothing in this packet can be trusted (A24).
  if (in.remaining() != 0) return DecodeError::bad_length;

  head.headers.remove_if([](const message::Header& field) {
    return field.id == HeaderId::status || field.id == HeaderId::connection || field.id == HeaderId::transfer_encoding;
  });
  const auto framing = message::response_framing(head.headers, head.version, head.status, request_method);
  if (!framing) return framing.error();
  head.body = *framing;
  return std::nullopt;
}

}  // namespace pontage::ajp13
