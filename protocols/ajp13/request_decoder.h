// The container's side of AJP/1.3, incoming, for the reference origin (`pontage origin`) and for tests:
// FORWARD_REQUEST, request body packets and CPING (ADAPTERS A1-A18, A28). Owned by one connection, used on one thread.
// A body packet has no type (A16), so the decoder must know when one is due: after a content-length above 0, and after
// each GET_BODY_CHUNK, of which it is told. Heads that come in pieces are gathered here, at most one packet; body bytes
// never are. After an error it stays failed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocols/ajp13/attributes.h"
#include "protocols/ajp13/codes.h"
#include "protocols/ajp13/packet_buffer.h"
#include "protocols/message/arena.h"
#include "protocols/message/head.h"
#include "protocols/wire/decode_error.h"
#include "protocols/wire/expected.h"
#include "protocols/wire/limits.h"

namespace pontage::ajp13 {

enum class RequestEvent : std::uint8_t {
  need_more,        // all input is consumed
  forward_request,  // head and attributes are complete
  body,             // `data`: the next body bytes, a whole packet or the part of it that is in the input
  body_end,         // the gateway has nothing more (an empty packet)
  cping,            // to be answered with CPONG
};

struct RequestStep {
  std::size_t consumed = 0;
  RequestEvent event = RequestEvent::need_more;
  std::string_view data{};  // for `body`: never empty, a view of the input
};

class RequestDecoder {
 public:
  // `packet_size` as the gateway has it; see fit_packet_size.
  RequestDecoder(std::size_t packet_size, const wire::HeadLimits& limits) noexcept
      : packet_size_(fit_packet_size(packet_size)), limits_(limits) {}

  // At most one event a call. On `forward_request` texts are in `arena`; authority is Host, or else the server's name;
  // a Content-Length above 0 makes head.body exact, otherwise it is none, and whether a body comes is known by asking
  // for it (A15). Errors: bad_magic, packet_too_long, bad_length (also more body than its Content-Length),
  // unknown_code, bad_string, malformed_*, unsupported_version, duplicate_host, bad_content_length,
  // bad_transfer_encoding, and the limits.
  wire::Expected<RequestStep, wire::DecodeError> decode(std::string_view input, message::Arena& arena,
                                                        message::RequestHead& head, Attributes& attributes);

  // A GET_BODY_CHUNK was sent: the next packet is body.
  void expect_body() noexcept { ++awaited_; }
  // A body packet is due or half read. False after a `body` means: ask for more, if more is wanted.
  bool awaiting_body() const noexcept { return awaited_ > 0; }
  // Bytes to come of a body with a Content-Length.
  std::uint64_t remaining_body() const noexcept { return body_left_; }

  // The stream ended: `truncated` within a packet or while a body packet is due.
  wire::Expected<void, wire::DecodeError> finish() const noexcept;

 private:
  enum class Limited : std::uint8_t { no, yes };
  using Failure = std::optional<wire::DecodeError>;

  Failure take_packet(std::string_view& rest, message::Arena& arena, message::RequestHead& head, Attributes& attributes,
                      RequestStep& step);
  Failure start_body(std::string_view& rest, std::size_t payload, RequestStep& step);
  Failure take_message(std::string_view& rest, std::size_t payload, message::Arena& arena, message::RequestHead& head,
                       Attributes& attributes, RequestStep& step);
  void take_data(std::string_view& rest, RequestStep& step) noexcept;

  std::size_t packet_size_;
  wire::HeadLimits limits_;
  PacketBuffer packet_;
  std::size_t data_left_ = 0;    // bytes to come of the body packet at hand
  std::uint64_t body_left_ = 0;  // of the body, when `limited_`
  std::uint32_t awaited_ = 0;    // body packets due, the one at hand included
  Limited limited_ = Limited::no;
  Failure failure_;
};

}  // namespace pontage::ajp13
