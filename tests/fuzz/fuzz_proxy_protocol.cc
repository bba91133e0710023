// Any bytes as the beginning of a connection: whole and in pieces must give the same, no byte behind the header may be
// taken, and a header that was read can be written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "protocols/proxy_protocol/decoder.h"
#include "protocols/proxy_protocol/encoder.h"

namespace {

using namespace pontage;
using namespace pontage::proxy_protocol;

void require(bool holds) {
  if (!holds) std::abort();
}

bool same(const Endpoint& a, const Endpoint& b) {
  return a.ip == b.ip && a.port == b.port && a.path == b.path;
}

void require_same(const Header& a, const Header& b) {
  require(a.family == b.family && same(a.source, b.source) && same(a.destination, b.destination));
  if (a.version == Version::v1 || a.command == Command::local) return;
  require(a.alpn == b.alpn && a.authority == b.authority && a.unique_id == b.unique_id);
  require(a.tls.has_value() == b.tls.has_value());
  if (a.tls) require(a.tls->client == b.tls->client && a.tls->verify == b.tls->verify);
  if (a.tls) require(a.tls->version == b.tls->version && a.tls->common_name == b.tls->common_name);
}

void require_encodable(const Header& header) {
  std::string bytes(room(header), '\0');
  wire::Sink sink(bytes);
  encode(sink, header);
  require(!sink.overflowed());
  Decoder decoder;
  const auto step = decoder.decode(sink.view());
  require(step && step->complete && step->consumed == sink.size());
  require_same(header, decoder.header());
}

// Where the header ended, or -1, or the error.
std::string run(std::string_view input, std::size_t piece, Decoder& decoder) {
  for (std::size_t at = 0; at < input.size();) {
    const auto part = input.substr(at, piece);
    const auto step = decoder.decode(part);
    if (!step) return std::string(to_string(step.error()));
    require(step->consumed <= part.size() && (step->complete || step->consumed == part.size()));
    at += step->consumed;
    if (step->complete) return std::to_string(at);
  }
  return "-1";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  Decoder whole;
  const auto expected = run(input, input.size() + 1, whole);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}}) {
    Decoder cut;
    require(run(input, piece, cut) == expected);
    if (expected[0] >= '0' && expected[0] <= '9') require_same(whole.header(), cut.header());
  }
  if (expected[0] >= '0' && expected[0] <= '9') require_encodable(whole.header());
  return 0;
}
