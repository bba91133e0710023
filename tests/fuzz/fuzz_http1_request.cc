// Request heads: however the input is cut, the same heads or the same refusal come out, and what comes out keeps the
// promises that the rest of the gateway builds on.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "protocols/http1/decoder.h"
#include "protocols/http1/scan.h"
#include "protocols/wire/ascii.h"

namespace {

using namespace pontage;

const wire::HeadLimits kLimits{.request_line = 200, .header = 200, .headers = 1000, .header_count = 20};

void require(bool holds) {
  if (!holds) std::abort();
}

void check_head(const message::RequestHead& head, message::Arena& arena) {
  require(wire::is_token(head.method_text) && head.headers.size() <= kLimits.header_count);
  require(head.headers.count(message::HeaderId::host) <= 1);
  require(head.version == message::kHttp10 || !head.host.empty());
  for (const auto& h : head.headers) {
    require(wire::is_token(h.name) && wire::is_field_value(h.value) && h.value == wire::trim_ows(h.value));
  }
  for (const auto slashes : {message::Slashes::merge, message::Slashes::keep}) {
    const auto once = message::canonical_path(head.target.raw_path, slashes, arena);
    if (!once) continue;
    const auto twice = message::canonical_path(once->path, slashes, arena);
    require(twice && twice->path == once->path);
    require(once->match == "*" || once->match.starts_with('/'));
  }
}

std::string read(std::string_view input, std::size_t piece) {
  message::Arena arena;
  message::RequestHead head;
  http1::RequestDecoder decoder(kLimits);
  std::string out;
  while (!input.empty()) {
    std::string_view part = input.substr(0, piece);
    input.remove_prefix(part.size());
    while (!part.empty()) {
      const auto step = decoder.decode(part, arena, head);
      if (!step) return out + std::string(to_string(step.error()));
      require(step->consumed <= part.size());
      part.remove_prefix(step->consumed);
      if (step->event == http1::HeadEvent::need_more) {
        require(part.empty());
        continue;
      }
      check_head(head, arena);
      out.append(head.method_text).append(" ").append(head.target_text).append(" ").append(head.host).append("\n");
      for (const auto& h : head.headers) out.append(h.name).append(":").append(h.value).append("\n");
    }
  }
  return out + (decoder.in_progress() ? "..." : "");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0] % 64;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const char* const end = input.data() + input.size();
  require(http1::find_control(input.data(), end) == http1::find_control_scalar(input.data(), end));
  const auto whole = read(input, input.size());
  require(read(input, 1) == whole);
  require(read(input, piece) == whole);
  return 0;
}
