// Any bytes as a FastCGI application's records: whole and in pieces must give the same streams and the same end, the
// streams' pieces must lie in the input, and what is consumed must be bounded by it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "protocols/fastcgi/response_decoder.h"

namespace {

using namespace pontage;
using fastcgi::ResponseEvent;

void require(bool holds) {
  if (!holds) std::abort();
}

// What came out, with neighbouring pieces of a stream joined.
struct Transcript {
  std::string text;
  ResponseEvent last = ResponseEvent::need_more;

  void add(const fastcgi::ResponseStep& step) {
    if (step.event == ResponseEvent::need_more) return;
    if (step.event != last) text += step.event == ResponseEvent::output ? "#out:" : "#err:";
    last = step.event;
    text += step.data;
    if (step.event != ResponseEvent::end) return;
    text += "#end " + std::to_string(step.app_status) + " " + std::to_string(static_cast<int>(step.protocol_status));
  }
};

void check(const fastcgi::ResponseStep& step, std::string_view part, const fastcgi::ResponseDecoder& decoder) {
  require(step.consumed > 0 && step.consumed <= part.size());
  const bool is_data = step.event == ResponseEvent::output || step.event == ResponseEvent::error_text;
  if (is_data) {
    require(!step.data.empty() && step.data.data() >= part.data());
    require(step.data.data() + step.data.size() == part.data() + step.consumed);
  } else {
    require(step.data.empty());
  }
  if (step.event == ResponseEvent::need_more) require(step.consumed == part.size());
  require(decoder.done() == (step.event == ResponseEvent::end));
  require(!decoder.done() || !decoder.between_records());
  require(step.protocol_status <= fastcgi::ProtocolStatus::unknown_role);
}

// Runs `input` in pieces of `piece` bytes and tells what came out.
std::string run(std::string_view input, std::size_t piece) {
  fastcgi::ResponseDecoder decoder;
  Transcript seen;
  while (!input.empty()) {
    auto part = input.substr(0, piece);
    input.remove_prefix(part.size());
    while (!part.empty()) {
      const auto step = decoder.decode(part);
      if (!step) {
        for (const auto more : {part, std::string_view{}}) {
          const auto again = decoder.decode(more);
          require(!again && again.error() == step.error() && !decoder.done());
        }
        return seen.text + "!" + std::string(to_string(step.error()));
      }
      check(*step, part, decoder);
      seen.add(*step);
      part.remove_prefix(step->consumed);
    }
  }
  const bool done = decoder.done();
  const bool between = decoder.between_records();
  if (!done) {
    // No byte, no news: nothing that was complete waits for another call to be so.
    const auto step = decoder.decode({});
    require(step && step->event == ResponseEvent::need_more && step->consumed == 0);
    require(decoder.between_records() == between);
  }
  return seen.text + (done ? "." : between ? "," : "...");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0];
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = run(input, input.size());
  require(whole == run(input, piece));
  require(whole == run(input, 1));
  return 0;
}
