#include <algorithm>

#include "protocols/http1/decoder.h"
#include "protocols/http1/head_scan.h"

namespace pontage::http1 {
namespace {

using message::Arena;
using message::HeaderId;
using message::RequestHead;
using wire::DecodeError;

struct RequestLine {
  std::string_view method;
  std::string_view target;
  message::Version version;

  static LineLimit first_line_limit(const wire::HeadLimits& limits) noexcept {
    return {limits.request_line, DecodeError::request_line_too_long, DecodeError::malformed_request_line};
  }

  // method SP request-target SP HTTP-version, one space each (RFC 9112 3).
  wire::Expected<void, DecodeError> first_line(std::string_view line) noexcept {
    const auto malformed = wire::Unexpected(DecodeError::malformed_request_line);
    const auto space = line.find(' ');
    if (space == std::string_view::npos) return malformed;
    method = line.substr(0, space);
    const auto rest = line.substr(space + 1);
    const auto second = rest.find(' ');
    if (second == std::string_view::npos || second == 0 || !wire::is_token(method)) return malformed;
    target = rest.substr(0, second);
    const auto parsed = parse_version(rest.substr(second + 1), DecodeError::malformed_request_line);
    if (!parsed) return wire::Unexpected(parsed.error());
    version = *parsed;
    return {};
  }
};

struct RequestLines : RequestLine, FieldLines {
  using FirstLine = RequestLine;
  using FieldLines::FieldLines;
};

std::string_view lower_case(std::string_view text, Arena& arena) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  if (std::none_of(text.begin(), text.end(), is_upper)) return text;
  const auto out = arena.chars(text.size());
  std::transform(text.begin(), text.end(), out.begin(), wire::to_lower);
  return {out.data(), out.size()};
}

// Sets authority, host and port. RFC 9112 3.2 and 3.2.2: one valid Host, needed since 1.1; a target that names the
// authority overrides it.
wire::Expected<void, DecodeError> settle_host(RequestHead& head, Arena& arena) {
  const message::Header* host = nullptr;
  for (const auto& h : head.headers) {
    if (h.id != HeaderId::host) continue;
    if (host) return wire::Unexpected(DecodeError::duplicate_host);
    host = &h;
  }
  if (!host && head.version != message::kHttp10) return wire::Unexpected(DecodeError::missing_host);
  message::Authority authority;
  if (host) {
    const auto parsed = message::parse_authority(host->value);
    if (!parsed) return wire::Unexpected(parsed.error());
    head.authority = host->value;
    authority = *parsed;
  }
  if (!head.target.authority.empty()) {
    const auto parsed = message::parse_authority(head.target.authority);
    if (!parsed) return wire::Unexpected(DecodeError::malformed_target);
    head.authority = head.target.authority;
    authority = *parsed;
  }
  auto name = authority.host;
  if (!name.empty() && name.back() == '.') {
    name.remove_suffix(1);
    if (name.empty()) return wire::Unexpected(DecodeError::malformed_host);
  }
  head.host = lower_case(name, arena);
  head.port = authority.port;
  return {};
}

bool expects_continue(const RequestHead& head) noexcept {
  for (const auto& h : head.headers) {
    if (h.id == HeaderId::expect && wire::list_has(h.value, "100-continue")) return true;
  }
  return false;
}

// From the lines, which are views of `text`, to a head whose texts are in the arena.
wire::Expected<void, DecodeError> finish_head(std::string_view text, RequestLines& lines, Arena& arena,
                                              RequestHead& head) {
  const Rebase rebase(text, arena.copy(text));
  head = RequestHead{};
  head.method_text = rebase(lines.method);
  head.method = message::parse_method(head.method_text);
  head.target_text = rebase(lines.target);
  head.version = lines.version;
  rebase(lines.headers);
  head.headers = lines.headers;

  const auto target = message::parse_target(head.target_text, head.method);
  if (!target) return wire::Unexpected(target.error());
  head.target = *target;
  if (const auto good = settle_host(head, arena); !good) return good;
  if (lines.has_framing) {
    const auto framing = message::request_framing(head.headers, head.version);
    if (!framing) return wire::Unexpected(framing.error());
    head.body = *framing;
  }
  head.persistence = persistence_of(lines, head.version);
  head.expect_continue = lines.has_expect && head.version != message::kHttp10 && expects_continue(head);
  return {};
}

}  // namespace

wire::Expected<HeadStep, DecodeError> RequestDecoder::decode(std::string_view input, Arena& arena, RequestHead& head) {
  if (intake_.failed()) return wire::Unexpected(intake_.error());
  const auto mark = arena.mark();
  auto step = intake_.settle(take(input, arena, head), arena, mark);
  if (step && step->event == HeadEvent::head) blank_skipped_ = false;
  return step;
}

wire::Expected<HeadStep, DecodeError> RequestDecoder::take(std::string_view input, Arena& arena, RequestHead& head) {
  const std::size_t skipped = skip_blank_line(input);
  RequestLines lines(arena);
  const auto taken = intake_.take(input.substr(skipped), lines);
  if (!taken) return wire::Unexpected(taken.error());
  const std::size_t consumed = skipped + taken->consumed;
  if (taken->text.empty()) return HeadStep{consumed, HeadEvent::need_more};
  if (const auto good = finish_head(taken->text, lines, arena, head); !good) return wire::Unexpected(good.error());
  return HeadStep{consumed, HeadEvent::head};
}

std::size_t RequestDecoder::skip_blank_line(std::string_view input) noexcept {
  if (blank_skipped_) return 0;
  if (intake_.pending().empty() && input.starts_with("\r\n")) {
    blank_skipped_ = true;
    return 2;
  }
  // The empty line may have been cut in two.
  if (intake_.pending() == "\r" && input.starts_with('\n')) {
    intake_.reset();
    blank_skipped_ = true;
    return 1;
  }
  return 0;
}

void RequestDecoder::reset() noexcept {
  intake_.reset();
  blank_skipped_ = false;
}

}  // namespace pontage::http1
