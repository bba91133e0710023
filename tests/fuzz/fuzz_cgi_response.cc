// Heads of CGI responses: however the input is cut, the same head with the same body behind it, or the same refusal
// comes out, and nothing of it depends on the input's memory.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "protocols/cgi/response_decoder.h"
#include "protocols/message/status.h"
#include "protocols/wire/ascii.h"

namespace {

using namespace pontage;
using message::BodyKind;
using message::HeaderId;

const wire::HeadLimits kLimits{.request_line = 200, .header = 200, .headers = 1000, .header_count = 20};

void require(bool holds) {
  if (!holds) std::abort();
}

void check_head(const message::ResponseHead& head, message::Method method) {
  require(head.status >= 200 && head.status <= 999 && wire::is_field_value(head.reason));
  require(head.headers.size() <= kLimits.header_count);
  for (const auto& h : head.headers) {
    require(wire::is_token(h.name) && wire::is_field_value(h.value) && h.value == wire::trim_ows(h.value));
  }
  require(!head.headers.has(HeaderId::status) && !head.headers.has(HeaderId::transfer_encoding));
  const bool bodyless = message::forbids_body(head.status) || method == message::Method::head;
  require(bodyless ? head.body.kind == BodyKind::none : head.body.kind != BodyKind::none);
  require(head.body.kind != BodyKind::chunked);
  require(head.persistence == message::Persistence::close);
}

std::string describe(const message::ResponseHead& head) {
  std::string out = std::to_string(head.status) + " " + std::string(head.reason) + "\n";
  for (const auto& h : head.headers) out.append(h.name).append(":").append(h.value).append("\n");
  return out + std::to_string(static_cast<int>(head.body.kind)) + " " + std::to_string(head.body.length) + "\n";
}

// Every piece lies in memory of its own that is gone before the head is looked at.
std::string read(std::string_view input, std::size_t piece, message::Method method) {
  message::Arena arena;
  message::ResponseHead head;
  cgi::ResponseDecoder decoder(kLimits);
  while (!input.empty()) {
    const std::size_t size = std::min(piece, input.size());
    auto memory = std::make_unique<char[]>(size);
    std::copy_n(input.begin(), size, memory.get());
    const std::string_view part(memory.get(), size);
    const auto step = decoder.decode(part, arena, method, head);
    if (!step) {
      const auto again = decoder.decode("Status: 200\n\n", arena, method, head);
      require(!again && again.error() == step.error() && !decoder.in_progress());
      return "!" + std::string(to_string(step.error()));
    }
    require(step->consumed <= size);
    if (step->event == http1::HeadEvent::need_more) {
      require(step->consumed == size && decoder.in_progress());
      input.remove_prefix(size);
      continue;
    }
    require(step->consumed > 0 && part[step->consumed - 1] == '\n' && !decoder.in_progress());
    input.remove_prefix(step->consumed);
    memory.reset();
    check_head(head, method);
    return describe(head).append(input);
  }
  return "...";
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
