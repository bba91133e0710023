#include "protocols/http1/decoder.h"
#include "protocols/http1/head_scan.h"

namespace pontage::http1 {
namespace {

using message::Arena;
using message::ResponseHead;
using wire::DecodeError;

struct StatusLine {
  int status = 0;
  std::string_view reason;
  message::Version version;

  static LineLimit first_line_limit(const wire::HeadLimits& limits) noexcept {
    return {limits.header, DecodeError::header_too_long, DecodeError::malformed_status_line};
  }

  // HTTP-version SP 3DIGIT [ SP reason ] (RFC 9112 4). Servers that leave the second space out are common enough.
  wire::Expected<void, DecodeError> first_line(std::string_view line) noexcept {
    const auto malformed = wire::Unexpected(DecodeError::malformed_status_line);
    const auto parsed = parse_version(line.substr(0, 8), DecodeError::malformed_status_line);
    if (!parsed) return wire::Unexpected(parsed.error());
    version = *parsed;
    if (line.size() < 12 || line[8] != ' ') return malformed;
    const auto code = wire::parse_decimal(line.substr(9, 3));
    if (!code || *code < 100) return malformed;
    if (line.size() > 12 && line[12] != ' ') return malformed;
    status = static_cast<int>(*code);
    reason = line.size() > 13 ? line.substr(13) : std::string_view{};
    return {};
  }
};

struct ResponseLines : StatusLine, FieldLines {
  using FirstLine = StatusLine;
  using FieldLines::FieldLines;
};

wire::Expected<void, DecodeError> finish_head(std::string_view text, ResponseLines& lines, Arena& arena,
                                              message::Method request_method, ResponseHead& head) {
  const Rebase rebase(text, arena.copy(text));
  head = ResponseHead{};
  head.status = lines.status;
  head.reason = rebase(lines.reason);
  head.version = lines.version;
  rebase(lines.headers);
  head.headers = lines.headers;
  const auto framing = message::response_framing(head.headers, head.version, head.status, request_method);
  if (!framing) return wire::Unexpected(framing.error());
  head.body = *framing;
  head.persistence = head.body.kind == message::BodyKind::until_close ? message::Persistence::close
                                                                      : persistence_of(lines, head.version);
  return {};
}

}  // namespace

wire::Expected<HeadStep, DecodeError> ResponseDecoder::decode(std::string_view input, Arena& arena,
                                                              message::Method request_method, ResponseHead& head) {
  if (intake_.failed()) return wire::Unexpected(intake_.error());
  const auto mark = arena.mark();
  return intake_.settle(take(input, arena, request_method, head), arena, mark);
}

wire::Expected<HeadStep, DecodeError> ResponseDecoder::take(std::string_view input, Arena& arena,
                                                            message::Method request_method, ResponseHead& head) {
  ResponseLines lines(arena);
  const auto taken = intake_.take(input, lines);
  if (!taken) return wire::Unexpected(taken.error());
  if (taken->text.empty()) return HeadStep{taken->consumed, HeadEvent::need_more};
  const auto good = finish_head(taken->text, lines, arena, request_method, head);
  if (!good) return wire::Unexpected(good.error());
  return HeadStep{taken->consumed, HeadEvent::head};
}

void ResponseDecoder::reset() noexcept {
  intake_.reset();
}

}  // namespace pontage::http1
