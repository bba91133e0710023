// Bodies: however the input is cut, the same data, end and trailers or the same refusal come out.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "protocols/http1/decoder.h"
#include "protocols/wire/ascii.h"

namespace {

using namespace pontage;

const wire::HeadLimits kLimits{.request_line = 200, .header = 100, .headers = 300, .header_count = 5};

void require(bool holds) {
  if (!holds) std::abort();
}

std::string ending(const http1::BodyDecoder& decoder, std::string_view left) {
  std::string out = " end";
  require(decoder.done() && decoder.trailers().size() <= kLimits.header_count);
  for (const auto& h : decoder.trailers()) {
    require(wire::is_token(h.name) && wire::is_field_value(h.value));
    out.append(h.name).append(":").append(h.value).append("\n");
  }
  return out + std::to_string(left.size());
}

std::string read(std::string_view input, std::size_t piece, const message::BodyFraming& framing) {
  message::Arena arena;
  http1::BodyDecoder decoder;
  decoder.start(framing, kLimits, arena);
  std::string out;
  std::size_t at = 0;
  while (at < input.size()) {
    const auto part = input.substr(at, piece);
    const auto step = decoder.decode(part);
    if (!step) {
      require(!decoder.finish());
      return out + " " + std::string(to_string(step.error()));
    }
    require(step->consumed <= part.size());
    at += step->consumed;
    out += step->data;
    if (step->event == http1::BodyEvent::end) return out + ending(decoder, input.substr(at));
    if (step->event == http1::BodyEvent::need_more) require(step->consumed == part.size());
    if (step->event == http1::BodyEvent::data) {
      require(!step->data.empty() && step->data.data() >= part.data());
      require(step->data.data() + step->data.size() <= part.data() + part.size());
    }
  }
  if (decoder.done()) return out + ending(decoder, {});
  return out + (decoder.finish() ? " closed" : " truncated");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t piece = 1 + data[0] % 64;
  message::BodyFraming framing;
  switch (data[1] % 8) {
    case 0: framing = {message::BodyKind::exact, data[1]}; break;
    case 1: framing = {message::BodyKind::until_close, 0}; break;
    case 2: framing = {message::BodyKind::none, 0}; break;
    default: framing = {message::BodyKind::chunked, 0}; break;
  }
  const std::string_view input(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto whole = read(input, input.size(), framing);
  require(read(input, 1, framing) == whole);
  require(read(input, piece, framing) == whole);
  return 0;
}
