#include "protocols/cgi/response_decoder.h"

#include <algorithm>

#include "protocols/http1/head_scan.h"
#include "protocols/message/framing.h"
#include "protocols/wire/ascii.h"

namespace pontage::cgi {
namespace {

using message::Header;
using message::HeaderId;
using message::ResponseHead;
using wire::DecodeError;

using Checked = wire::Expected<void, DecodeError>;

constexpr std::string_view kStatusLine = "HTTP/";
constexpr std::size_t kSlice = 1024;  // so that a long body behind the head is not gathered as well

std::string_view without_cr(std::string_view line) noexcept {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

// "NNN" or "NNN reason"; interim answers are no business of a script (X7).
Checked take_status(std::string_view text, ResponseHead& head) noexcept {
  const auto code = wire::parse_decimal(text.substr(0, 3));
  const bool shaped = text.size() == 3 || (text.size() > 3 && text[3] == ' ');
  if (!code || *code < 200 || !shaped) return wire::Unexpected(DecodeError::malformed_status_line);
  head.status = static_cast<int>(*code);
  head.reason = text.size() > 4 ? text.substr(4) : std::string_view{};
  return {};
}

Checked take_status_line(std::string_view line, ResponseHead& head) noexcept {
  const auto version = http1::parse_version(line.substr(0, 8), DecodeError::malformed_status_line);
  if (!version) return wire::Unexpected(version.error());
  if (line.size() < 12 || line[8] != ' ') return wire::Unexpected(DecodeError::malformed_status_line);
  return take_status(line.substr(9), head);
}

Checked take_status_field(ResponseHead& head) noexcept {
  if (head.headers.count(HeaderId::status) > 1) return wire::Unexpected(DecodeError::malformed_status_line);
  if (const Header* status = head.headers.find(HeaderId::status)) return take_status(status->value, head);
  if (head.headers.has(HeaderId::location)) {
    head.status = 302;
    return {};
  }
  if (!head.headers.has(HeaderId::content_type)) return wire::Unexpected(DecodeError::malformed_header);
  head.status = 200;
  return {};
}

bool is_dropped(const Header& field) noexcept {
  return field.id == HeaderId::status || field.id == HeaderId::transfer_encoding;
}

// `text` is in the arena and ends with its empty line.
Checked read_head(std::string_view text, message::Arena& arena, message::Method request_method, ResponseHead& head) {
  head = ResponseHead{};
  head.headers = message::HeaderList(arena);
  const char* const end = text.data() + text.size();
  for (;;) {
    const std::size_t size = text.find('\n');
    const auto line = without_cr(text.substr(0, size));
    text.remove_prefix(size + 1);
    if (line.empty()) break;
    if (head.status == 0 && head.headers.empty() && line.substr(0, kStatusLine.size()) == kStatusLine) {
      if (const auto good = take_status_line(line, head); !good) return good;
      continue;
    }
    Header field;
    if (!http1::split_field(line, end, field)) return wire::Unexpected(DecodeError::malformed_header);
    head.headers.add(field.name, field.value, field.id);
  }
  if (head.status == 0) {
    if (const auto good = take_status_field(head); !good) return good;
  }
  head.headers.remove_if(is_dropped);
  const auto framing = message::response_framing(head.headers, head.version, head.status, request_method);
  if (!framing) return wire::Unexpected(framing.error());
  head.body = *framing;
  head.persistence = message::Persistence::close;
  return {};
}

}  // namespace

wire::Expected<std::size_t, DecodeError> ResponseDecoder::scan(std::string_view text) noexcept {
  for (;;) {
    const auto limit = http1::field_limit(limits_, progress_.line, DecodeError::malformed_header);
    const std::size_t stop = text.find('\n', progress_.scanned);
    const auto line = without_cr(text.substr(progress_.line, stop - progress_.line));
    if (line.size() > limit.bytes) return wire::Unexpected(limit.too_long);
    if (stop == std::string_view::npos) {
      progress_.scanned = text.size();
      return std::size_t{0};
    }
    if (line.empty()) return stop + 1;
    if (++progress_.lines > limits_.header_count) return wire::Unexpected(DecodeError::too_many_headers);
    if (!wire::is_field_value(line)) return wire::Unexpected(DecodeError::malformed_header);
    progress_.line = progress_.scanned = stop + 1;
  }
}

wire::Expected<http1::HeadText, DecodeError> ResponseDecoder::take(std::string_view input) {
  if (pending_.empty()) {
    const auto size = scan(input);
    if (!size) return wire::Unexpected(size.error());
    if (*size > 0) return http1::HeadText{*size, input.substr(0, *size)};
    pending_.assign(input);
    return http1::HeadText{input.size(), {}};
  }
  std::size_t consumed = 0;
  while (consumed < input.size()) {
    const std::size_t before = pending_.size();
    const auto slice = input.substr(consumed, kSlice);
    pending_.append(slice);
    const auto size = scan(pending_);
    if (!size) return wire::Unexpected(size.error());
    if (*size > 0) return http1::HeadText{consumed + (*size - before), std::string_view(pending_).substr(0, *size)};
    consumed += slice.size();
  }
  return http1::HeadText{consumed, {}};
}

wire::Expected<http1::HeadStep, DecodeError> ResponseDecoder::decode(std::string_view input, message::Arena& arena,
                                                                     message::Method request_method,
                                                                     ResponseHead& head) {
  if (failure_) return wire::Unexpected(*failure_);
  const auto taken = take(input);
  if (!taken) return fail(taken.error());
  if (taken->text.empty()) return http1::HeadStep{taken->consumed, http1::HeadEvent::need_more};
  const auto mark = arena.mark();
  const auto good = read_head(arena.copy(taken->text), arena, request_method, head);
  if (!good) {
    arena.rollback(mark);
    return fail(good.error());
  }
  reset();
  return http1::HeadStep{taken->consumed, http1::HeadEvent::head};
}

wire::Unexpected<DecodeError> ResponseDecoder::fail(DecodeError error) noexcept {
  reset();
  failure_ = error;
  return wire::Unexpected(error);
}

void ResponseDecoder::reset() noexcept {
  constexpr std::size_t kKept = 4096;  // the memory of a large head is worth less than an idle connection that is small
  if (pending_.capacity() > kKept) {
    std::string().swap(pending_);
  } else {
    pending_.clear();
  }
  progress_ = {};
  failure_.reset();
}

}  // namespace pontage::cgi
