#include "protocols/ajp13/fields.h"

#include "protocols/wire/ascii.h"

namespace pontage::ajp13 {
namespace {

using message::HeaderId;
using wire::DecodeError;

// A code or a literal name. A value that Tomcat left out for want of room shows here: the next code reads as a length
// (A24).
std::optional<DecodeError> read_name(wire::Cursor& in, HeaderOfCode header_of, message::Header& field) {
  const auto first = in.u16be();
  if (!first) return DecodeError::bad_string;
  if (*first >= kFirstHeaderCode) {
    field.id = header_of(*first);
    if (field.id == HeaderId::unknown) return DecodeError::unknown_code;
    field.name = message::header_name(field.id);
    return std::nullopt;
  }
  const auto name = read_text(in, *first);
  if (!name) return DecodeError::bad_string;
  if (!wire::is_token(*name)) return DecodeError::malformed_header;
  field.name = *name;
  field.id = message::lookup_header(*name);
  return std::nullopt;
}

}  // namespace

std::optional<DecodeError> read_fields(wire::Cursor& in, std::size_t count, const wire::HeadLimits& limits,
                                       HeaderOfCode header_of, message::HeaderList& list) {
  if (count > limits.header_count) return DecodeError::too_many_headers;
  std::size_t total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    message::Header field;
    if (const auto error = read_name(in, header_of, field)) return error;
    const auto value = read_string(in);
    if (!value) return DecodeError::bad_string;
    // Counted as "name: value" would be.
    const std::size_t size = field.name.size() + 2 + value->size();
    total += size;
    if (size > limits.header) return DecodeError::header_too_long;
    if (total > limits.headers) return DecodeError::headers_too_long;
    if (!wire::is_field_value(*value)) return DecodeError::malformed_header;
    list.add(field.name, wire::trim_ows(*value), field.id);
  }
  return std::nullopt;
}

}  // namespace pontage::ajp13
