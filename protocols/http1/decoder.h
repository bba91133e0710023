// HTTP/1.0 and 1.1 messages, incoming: strict by RFC 9112 and the refusals of CASES.md. A head decoder looks at a whole
// head in place when it arrived in one piece, else it keeps the part seen so far (at most the limits), and never reads
// a byte twice past one line. The head's texts are copied into the arena once. After an error a decoder stays failed
// until reset(). One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocols/http1/head_intake.h"
#include "protocols/message/arena.h"
#include "protocols/message/head.h"
#include "protocols/wire/decode_error.h"
#include "protocols/wire/expected.h"
#include "protocols/wire/limits.h"

namespace pontage::http1 {

// Requests, as the server side reads them. Skips at most one empty line (CRLF) before the request line (RFC 9112 2.2).
class RequestDecoder {
 public:
  explicit RequestDecoder(const wire::HeadLimits& limits) noexcept : intake_(limits) {}

  // On `head`, `head` is complete and valid: target parsed, exactly one good Host (none is allowed on 1.0 only),
  // framing decided, and `consumed` ends with the head. Consumes everything on need_more.
  wire::Expected<HeadStep, wire::DecodeError> decode(std::string_view input, message::Arena& arena,
                                                     message::RequestHead& head);
  // For heads that begin after this.
  void set_limits(const wire::HeadLimits& limits) noexcept { intake_.set_limits(limits); }
  // True when a part of a head has been taken in: an end of stream now is a truncation, not a clean close.
  bool in_progress() const noexcept { return !intake_.pending().empty(); }
  // Ready for the next head; gives back the memory of a large partial head.
  void reset() noexcept;

 private:
  wire::Expected<HeadStep, wire::DecodeError> take(std::string_view input, message::Arena& arena,
                                                   message::RequestHead& head);
  std::size_t skip_blank_line(std::string_view input) noexcept;

  HeadIntake intake_;
  bool blank_skipped_ = false;
};

// Responses, as the client side reads them. Interim responses come out as heads too; the caller goes on decoding.
class ResponseDecoder {
 public:
  explicit ResponseDecoder(const wire::HeadLimits& limits) noexcept : intake_(limits) {}

  // `request_method` decides the framing (HEAD). Refuses obs-fold, bare CR, LF alone, NUL, a space before the colon
  // (CASES P12: refused).
  wire::Expected<HeadStep, wire::DecodeError> decode(std::string_view input, message::Arena& arena,
                                                     message::Method request_method, message::ResponseHead& head);
  bool in_progress() const noexcept { return !intake_.pending().empty(); }
  void reset() noexcept;

 private:
  wire::Expected<HeadStep, wire::DecodeError> take(std::string_view input, message::Arena& arena,
                                                   message::Method request_method, message::ResponseHead& head);

  HeadIntake intake_;
};

enum class BodyEvent : std::uint8_t { need_more, data, end };
struct BodyStep {
  std::size_t consumed = 0;
  BodyEvent event = BodyEvent::need_more;
  std::string_view data;  // a view of the input, for `data`
};

// The body after a head. For `exact` and `chunked` the end is found; for `until_close` only finish() ends it.
class BodyDecoder {
 public:
  BodyDecoder() = default;
  // Trailer fields are kept in `arena` within `limits` (header_count, headers).
  void start(const message::BodyFraming& framing, const wire::HeadLimits& limits, message::Arena& arena) noexcept;

  // At most one event a call; `end` may come with consumed 0 (an exact body's last byte gone, or none at all). Chunk
  // extensions are skipped within 4 KiB a line; a chunk-size line ends with CRLF only (CASES P01).
  wire::Expected<BodyStep, wire::DecodeError> decode(std::string_view input);
  // The stream ended. Fine for until_close or after `end`; otherwise `truncated`.
  wire::Expected<void, wire::DecodeError> finish() noexcept;

  bool done() const noexcept { return done_; }
  // Bytes still to come of an `exact` body.
  std::uint64_t remaining() const noexcept { return remaining_; }
  const message::HeaderList& trailers() const noexcept { return trailers_; }

 private:
  enum class State : std::uint8_t {
    size,
    size_space,
    extension,
    size_lf,
    data,
    data_cr,
    data_lf,
    trailer_line,
    trailer_end_lf
  };
  using Taken = wire::Expected<std::size_t, wire::DecodeError>;  // bytes of the input

  std::string_view take_data(std::string_view input) noexcept;
  wire::Expected<BodyStep, wire::DecodeError> decode_chunked(std::string_view input);
  Taken take_framing(std::string_view rest);
  Taken take_size(std::string_view rest) noexcept;
  Taken take_space(char c) noexcept;
  Taken take_extension(std::string_view rest) noexcept;
  Taken take_trailer(std::string_view rest);
  Taken end_trailer(std::string_view rest);

  message::BodyFraming framing_;
  wire::HeadLimits limits_;
  message::HeaderList trailers_;
  std::string line_;             // a trailer line that came in pieces
  std::uint64_t remaining_ = 0;  // of the body, or of the present chunk
  std::size_t line_bytes_ = 0;
  std::size_t trailer_bytes_ = 0;
  std::uint8_t size_digits_ = 0;
  State state_ = State::size;
  bool done_ = true;
  bool failed_ = false;
  wire::DecodeError error_{};
};

}  // namespace pontage::http1
