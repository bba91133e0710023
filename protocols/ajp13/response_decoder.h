// The gateway's side of AJP/1.3, incoming: what a container sends in answer to a request or a CPING, in its only legal
// order (ADAPTERS A3, A7, A21-A25, A28). Owned by one backend connection, used on its worker's thread. Every byte is
// hostile: all lengths are checked against the packet, the packet size and the limits. Heads that come in pieces are
// gathered here, at most one packet; body bytes never are. After an error it stays failed: the connection must be
// closed (X20).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocols/ajp13/codes.h"
#include "protocols/ajp13/packet_buffer.h"
#include "protocols/message/arena.h"
#include "protocols/message/head.h"
#include "protocols/wire/decode_error.h"
#include "protocols/wire/expected.h"
#include "protocols/wire/limits.h"

namespace pontage::ajp13 {

enum class ResponseEvent : std::uint8_t {
  need_more,       // all input is consumed
  head,            // `head` is complete
  body,            // `data`: the next body bytes, a whole chunk or the part of it that is in the input
  flush,           // what has come must go to the client now (A23)
  get_body_chunk,  // the container wants `requested` bytes of request body; empty bodies are asked for too (A16, A17)
  end,             // the response is complete; `reuse` says whether the connection may serve another (A25)
  cpong,           // alive (A28)
};

struct ResponseStep {
  std::size_t consumed = 0;
  ResponseEvent event = ResponseEvent::need_more;
  std::string_view data{};      // for `body`: never empty, a view of the input
  std::uint16_t requested = 0;  // for `get_body_chunk`, bytes
  Reuse reuse = Reuse::no;      // for `end`
};

class ResponseDecoder {
 public:
  // `packet_size` as configured for the server; see fit_packet_size.
  ResponseDecoder(std::size_t packet_size, const wire::HeadLimits& limits) noexcept
      : packet_size_(fit_packet_size(packet_size)), limits_(limits) {}

  // At most one event a call. `request_method` decides whether the head has a body. On `head`: texts are in `arena`;
  // Status, Connection and Transfer-Encoding are gone (A7); head.body is exact when there is a Content-Length, none for
  // HEAD, 204 and 304, else until_close, which means "until `end`". Body events come whatever head.body says: the
  // caller counts (X10, X11). Errors: bad_magic, packet_too_long, bad_length, unknown_code, unexpected_message (order;
  // also any byte after `end` but a flush), malformed_status_line (status not in 200..999), bad_string,
  // malformed_header, bad_content_length, and the limits.
  wire::Expected<ResponseStep, wire::DecodeError> decode(std::string_view input, message::Arena& arena,
                                                         message::Method request_method, message::ResponseHead& head);

  // The stream ended: `truncated` unless the response (or the CPONG) had come to its end.
  wire::Expected<void, wire::DecodeError> finish() const noexcept;
  // True after `end` or `cpong`, with nothing half read: only then may the connection be kept.
  bool done() const noexcept;

  // Ready for the answer to the next request. Only when done(), or before the first.
  void reset() noexcept { start(Phase::before_head); }
  // Ready for a CPONG and nothing else.
  void expect_cpong() noexcept { start(Phase::ping); }

 private:
  enum class Phase : std::uint8_t { ping, before_head, body, done };
  enum class Pad : std::uint8_t { none, due };
  using Failure = std::optional<wire::DecodeError>;

  void start(Phase phase) noexcept;
  static bool is_legal(Phase phase, PacketType type) noexcept;
  Failure take_packet(std::string_view& rest, message::Arena& arena, message::Method request_method,
                      message::ResponseHead& head, ResponseStep& step);
  Failure take_head(std::string_view& rest, std::size_t payload, message::Arena& arena, message::Method request_method,
                    message::ResponseHead& head, ResponseStep& step);
  Failure take_short(std::string_view& rest, std::size_t payload, PacketType type, ResponseStep& step);
  Failure start_chunk(std::string_view& rest, std::size_t payload, ResponseStep& step);
  Failure take_flush(std::string_view& rest, std::size_t payload, ResponseStep& step);
  Failure take_chunk(std::string_view& rest, ResponseStep& step) noexcept;

  std::size_t packet_size_;
  wire::HeadLimits limits_;
  PacketBuffer packet_;
  std::size_t chunk_left_ = 0;  // bytes to come of the chunk at hand
  Pad pad_ = Pad::none;         // the NUL after a chunk
  Phase phase_ = Phase::before_head;
  Failure failure_;
};

}  // namespace pontage::ajp13
