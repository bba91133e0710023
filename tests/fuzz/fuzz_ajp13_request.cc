// Any bytes as a gateway's requests: whole and in pieces must give the same, body pieces must lie in the input, and a
// request that was read can be written again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/ajp13/request_decoder.h"
#include "protocols/ajp13/request_encoder.h"

namespace {

using namespace pontage;

void require(bool holds) {
  if (!holds) std::abort();
}

void require_encodable(const message::RequestHead& head, const ajp13::Attributes& attributes) {
  std::vector<char> room(ajp13::kMaxPacket);
  wire::Sink sink(room);
  ajp13::ForwardRequest again{.head = head,
                              .path = head.target.raw_path,
                              .has_query = head.target.has_query,
                              .query = head.target.query,
                              .headers = head.headers,
                              .remote_addr = attributes.remote_addr,
                              .local_addr = attributes.local_addr,
                              .server_name = attributes.server_name};
  const auto done = ajp13::encode_forward_request(sink, again, ajp13::kMaxPacket);
  require(done.has_value());
  message::Arena arena;
  message::RequestHead read;
  ajp13::Attributes ignored;
  ajp13::RequestDecoder decoder(ajp13::kMaxPacket, {});
  const auto step = decoder.decode(sink.view(), arena, read, ignored);
  require(step.has_value() && step->event == ajp13::RequestEvent::forward_request);
  require(read.method_text == head.method_text && read.target_text == head.target_text && read.body == head.body);
}

std::string run(std::string_view input, std::size_t piece, int asks) {
  ajp13::RequestDecoder decoder(ajp13::kMinPacket, {});
  message::Arena arena;
  message::RequestHead head;
  ajp13::Attributes attributes;
  std::string seen;
  while (!input.empty()) {
    auto part = input.substr(0, piece);
    input.remove_prefix(part.size());
    while (!part.empty()) {
      const auto step = decoder.decode(part, arena, head, attributes);
      if (!step) return seen + "!" + std::string(wire::to_string(step.error()));
      require(step->consumed > 0 && step->consumed <= part.size());
      if (step->event == ajp13::RequestEvent::body) {
        require(!step->data.empty() && step->data.data() >= part.data() &&
                step->data.data() + step->data.size() <= part.data() + step->consumed);
        seen += step->data;
      } else if (step->event != ajp13::RequestEvent::need_more) {
        seen += '#';
        seen += static_cast<char>(step->event);
      }
      if (step->event == ajp13::RequestEvent::forward_request) {
        seen += std::string(head.method_text) + std::string(head.target_text) + std::to_string(head.headers.size());
        require_encodable(head, attributes);
      }
      const bool may_ask =
          step->event == ajp13::RequestEvent::forward_request || step->event == ajp13::RequestEvent::body;
      if (may_ask && !decoder.awaiting_body() && asks-- > 0) decoder.expect_body();
      part.remove_prefix(step->consumed);
    }
  }
  return seen + (decoder.finish() ? "." : "");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const int asks = data[0] & 7;
  const std::size_t piece = 1 + data[1];
  const std::string_view input(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto whole = run(input, input.size() + 1, asks);
  require(whole == run(input, piece, asks));
  require(whole == run(input, 1, asks));
  return 0;
}
