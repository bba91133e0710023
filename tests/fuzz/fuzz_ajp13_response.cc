// Any bytes as a container's answer: whole and in pieces must give the same, body pieces must lie in the input, and
// what is consumed must be bounded by it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "protocols/ajp13/response_decoder.h"
#include "protocols/wire/ascii.h"

namespace {

using namespace pontage;

void require(bool holds) {
  if (!holds) std::abort();
}

// Runs `input` in pieces of `piece` bytes and tells what came out.
std::string run(std::string_view input, std::size_t piece, bool ping) {
  ajp13::ResponseDecoder decoder(ajp13::kMinPacket, {});
  if (ping) decoder.expect_cpong();
  message::Arena arena;
  message::ResponseHead head;
  std::string seen;
  while (!input.empty()) {
    auto part = input.substr(0, piece);
    input.remove_prefix(part.size());
    while (!part.empty()) {
      const auto step = decoder.decode(part, arena, message::Method::get, head);
      if (!step) {
        require(!decoder.decode(part, arena, message::Method::get, head).has_value());
        return seen + "!" + std::string(wire::to_string(step.error()));
      }
      require(step->consumed > 0 && step->consumed <= part.size());
      if (step->event == ajp13::ResponseEvent::body) {
        require(!step->data.empty() && step->data.data() >= part.data() &&
                step->data.data() + step->data.size() <= part.data() + step->consumed);
        seen += step->data;
      } else if (step->event == ajp13::ResponseEvent::need_more) {
        require(step->consumed == part.size());
      } else {
        seen += '#';
        seen += static_cast<char>(step->event);
        seen += std::to_string(step->requested) + (step->reuse == ajp13::Reuse::yes ? "+" : "-");
      }
      if (step->event == ajp13::ResponseEvent::head) {
        require(head.status >= 200 && head.status <= 999);
        for (const auto& field : head.headers) {
          require(wire::is_token(field.name) && wire::is_field_value(field.value));
          seen += std::string(field.name) + ":" + std::string(field.value);
        }
      }
      part.remove_prefix(step->consumed);
    }
  }
  return seen + (decoder.done() ? "." : "");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const bool ping = (data[0] & 1) != 0;
  const std::size_t piece = 1 + data[1];
  const std::string_view input(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto whole = run(input, input.size() + 1, ping);
  require(whole == run(input, piece, ping));
  require(whole == run(input, 1, ping));
  return 0;
}
