// Response heads: however the input is cut, the same heads or the same refusal come out.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "protocols/http1/decoder.h"
#include "protocols/message/status.h"
#include "protocols/wire/ascii.h"

namespace {

using namespace pontage;

const wire::HeadLimits kLimits{.request_line = 200, .header = 200, .headers = 1000, .header_count = 20};

void require(bool holds) {
  if (!holds) std::abort();
}

void check_head(const message::ResponseHead& head, message::Method method) {
  require(head.status >= 100 && head.status <= 999 && wire::is_field_value(head.reason));
  require(head.headers.size() <= kLimits.header_count);
  for (const auto& h : head.headers) {
    require(wire::is_token(h.name) && wire::is_field_value(h.value) && h.value == wire::trim_ows(h.value));
  }
  const bool bodyless = message::forbids_body(head.status) || method == message::Method::head;
  require(!bodyless || head.body.kind == message::BodyKind::none);
}

std::string read(std::string_view input, std::size_t piece, message::Method method) {
  message::Arena arena;
  message::ResponseHead head;
  http1::ResponseDecoder decoder(kLimits);
  std::string out;
  while (!input.empty()) {
    std::string_view part = input.substr(0, piece);
    input.remove_prefix(part.size());
    while (!part.empty()) {
      const auto step = decoder.decode(part, arena, method, head);
      if (!step) return out + std::string(to_string(step.error()));
      require(step->consumed <= part.size());
      part.remove_prefix(step->consumed);
      if (step->event == http1::HeadEvent::need_more) {
        require(part.empty());
        continue;
      }
      check_head(head, method);
      out.append(std::to_string(head.status)).append(" ").append(head.reason).append("\n");
      for (const auto& h : head.headers) out.append(h.name).append(":").append(h.value).append("\n");
    }
  }
  return out + (decoder.in_progress() ? "..." : "");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0] % 64;
  const auto method = (data[0] & 0x80) != 0 ? message::Method::head : message::Method::get;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = read(input, input.size(), method);
  require(read(input, 1, method) == whole);
  require(read(input, piece, method) == whole);
  return 0;
}
