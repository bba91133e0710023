#include "protocols/scgi/request_encoder.h"

namespace pontage::scgi {
namespace {

constexpr std::string_view kMark(
    "SCGI\0"
    "1\0",
    7);

std::size_t payload_size(const cgi::VariableList& variables) noexcept {
  return kMark.size() + variables.bytes() + 2 * variables.size();
}

void append(wire::Sink& sink, std::string_view text) {
  sink.append(text);
  sink.append('\0');
}

}  // namespace

std::size_t request_room(const cgi::VariableList& variables) noexcept {
  constexpr std::size_t kAround = 22;  // the length, ':' and ','
  return payload_size(variables) + kAround;
}

void encode_request(wire::Sink& sink, const cgi::VariableList& variables) {
  sink.append_decimal(payload_size(variables));
  sink.append(':');
  bool marked = false;
  for (const auto& v : variables) {
    append(sink, v.name);
    append(sink, v.value);
    if (!marked) sink.append(kMark);
    marked = true;
  }
  sink.append(',');
}

}  // namespace pontage::scgi
