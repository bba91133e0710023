#include "protocols/uwsgi/request_encoder.h"

#include <algorithm>

namespace pontage::uwsgi {
namespace {

void append_u16le(wire::Sink& sink, std::size_t n) {
  sink.append_u8(static_cast<std::uint8_t>(n));
  sink.append_u8(static_cast<std::uint8_t>(n >> 8));
}

void append(wire::Sink& sink, std::string_view text) {
  append_u16le(sink, text.size());
  sink.append(text);
}

}  // namespace

std::size_t block_size(const cgi::VariableList& variables) noexcept {
  return variables.bytes() + 4 * variables.size();
}

wire::Expected<void, TooLarge> encode_request(wire::Sink& sink, const cgi::VariableList& variables, std::size_t most,
                                              std::uint8_t modifier1, std::uint8_t modifier2) {
  const std::size_t size = block_size(variables);
  if (size > std::min(most, kMostBlock)) return wire::Unexpected(TooLarge{size});
  sink.append_u8(modifier1);
  append_u16le(sink, size);
  sink.append_u8(modifier2);
  for (const auto& v : variables) {
    append(sink, v.name);
    append(sink, v.value);
  }
  return {};
}

}  // namespace pontage::uwsgi
