// The part that request and response heads share: splitting a head into lines, in order, with the limits. Used by the
// two head decoders only; one thread at a time. A line is looked at once it is complete, a limit as soon as the bytes
// pass it, so that every way of cutting the input gives the same answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocols/http1/head_intake.h"
#include "protocols/http1/scan.h"
#include "protocols/message/head.h"
#include "protocols/wire/ascii.h"
#include "protocols/wire/decode_error.h"
#include "protocols/wire/expected.h"
#include "protocols/wire/limits.h"

namespace pontage::http1 {

enum class Scan : std::uint8_t { need_more, complete };
using ScanResult = wire::Expected<Scan, wire::DecodeError>;

// "name: value" without its CRLF. False for an empty name, anything but token characters before the colon (so also a
// folded line, a leading space, a space before the colon) and no colon at all (RFC 9112 5.1, 5.2).
inline bool split_field(std::string_view line, std::string_view& name, std::string_view& value) noexcept {
  std::size_t colon = 0;
  while (colon < line.size() && wire::is_token_char(line[colon])) ++colon;
  if (colon == 0 || colon == line.size() || line[colon] != ':') return false;
  name = line.substr(0, colon);
  value = wire::trim_ows(line.substr(colon + 1));
  return true;
}

// The bytes of a line, without CRLF, that are still allowed, and the error beyond them.
struct LineLimit {
  std::size_t bytes;
  wire::DecodeError too_long;
  wire::DecodeError malformed;
};

inline LineLimit field_limit(const wire::HeadLimits& limits, std::size_t used, wire::DecodeError malformed) noexcept {
  const std::size_t left = limits.headers > used ? limits.headers - used : 0;
  if (limits.header <= left) return {limits.header, wire::DecodeError::header_too_long, malformed};
  return {left, wire::DecodeError::headers_too_long, malformed};
}

// Finds the end of the line at `progress.line`; `line` is set when it is complete, CRLF not included.
inline ScanResult scan_line(std::string_view head, const LineLimit& limit, HeadProgress& progress,
                            std::string_view& line) noexcept {
  const char* const start = head.data() + progress.line;
  const char* const end = head.data() + head.size();
  const char* const stop = find_control(head.data() + progress.scanned, end);
  const auto length = static_cast<std::size_t>(stop - start);
  progress.scanned = progress.line + length;
  if (length > limit.bytes) return wire::Unexpected(limit.too_long);
  if (stop == end) return Scan::need_more;
  if (*stop != '\r') return wire::Unexpected(limit.malformed);
  if (stop + 1 == end) return Scan::need_more;
  if (stop[1] != '\n') return wire::Unexpected(limit.malformed);
  line = {start, length};
  progress.line += length + 2;
  progress.scanned = progress.line;
  return Scan::complete;
}

// Reads lines of `head` from where `progress` stands. `message` gets each complete one: `first_line(line)` returns an
// Expected<void, DecodeError>, `field(name, value)` nothing; both see views of `head`. On complete, the head ends at
// `progress.line`.
template <class Message>
ScanResult scan_head(std::string_view head, const wire::HeadLimits& limits, HeadProgress& progress, Message& message) {
  std::string_view line;
  if (progress.fields_at == 0) {
    const auto found = scan_line(head, Message::first_line_limit(limits), progress, line);
    if (!found || *found == Scan::need_more) return found;
    if (const auto good = message.first_line(line); !good) return wire::Unexpected(good.error());
    progress.fields_at = progress.line;
  }
  for (;;) {
    if (progress.fields == limits.header_count && progress.line < head.size() && head[progress.line] != '\r') {
      return wire::Unexpected(wire::DecodeError::too_many_headers);
    }
    const auto limit = field_limit(limits, progress.line - progress.fields_at, wire::DecodeError::malformed_header);
    const auto found = scan_line(head, limit, progress, line);
    if (!found || *found == Scan::need_more) return found;
    if (line.empty()) return Scan::complete;
    std::string_view name;
    std::string_view value;
    if (!split_field(line, name, value)) return wire::Unexpected(wire::DecodeError::malformed_header);
    message.field(name, value);
    ++progress.fields;
  }
}

// "HTTP/1.0" or "HTTP/1.1"; a later minor version is read as 1.1, its semantics being the same (RFC 9110 2.5).
// `malformed` for what has not this shape, which is case-sensitive; unsupported_version for another major version.
inline wire::Expected<message::Version, wire::DecodeError> parse_version(std::string_view text,
                                                                         wire::DecodeError malformed) noexcept {
  if (text == "HTTP/1.1") return message::kHttp11;
  if (text == "HTTP/1.0") return message::kHttp10;
  const bool shaped = text.size() == 8 && text.substr(0, 5) == "HTTP/" && wire::is_digit(text[5]) && text[6] == '.' &&
                      wire::is_digit(text[7]);
  if (!shaped) return wire::Unexpected(malformed);
  if (text[5] != '1') return wire::Unexpected(wire::DecodeError::unsupported_version);
  return message::kHttp11;
}

// RFC 9112 9.3: "close" wins; without either option the version decides.
inline message::Persistence persistence_of(const message::HeaderList& headers, message::Version version) noexcept {
  bool keep = version != message::kHttp10;
  for (const auto& h : headers) {
    if (h.id != message::HeaderId::connection) continue;
    if (wire::list_has(h.value, "close")) return message::Persistence::close;
    keep = keep || wire::list_has(h.value, "keep-alive");
  }
  return keep ? message::Persistence::keep_alive : message::Persistence::close;
}

// Views of one piece of memory made views of its copy.
class Rebase {
 public:
  Rebase(std::string_view from, std::string_view to) noexcept : from_(from.data()), to_(to.data()) {}
  std::string_view operator()(std::string_view view) const noexcept {
    // An empty view may come from elsewhere.
    return view.empty() ? std::string_view{} : std::string_view(to_ + (view.data() - from_), view.size());
  }
  void operator()(message::HeaderList& headers) const noexcept {
    for (auto& h : headers) {
      h.name = (*this)(h.name);
      h.value = (*this)(h.value);
    }
  }

 private:
  const char* from_;
  const char* to_;
};

// What checks the lines of a head that comes in pieces: its fields are read for good once all are here.
template <class FirstLine>
struct CheckOnly : FirstLine {
  void field(std::string_view, std::string_view) noexcept {}
};

template <class FirstLine>
wire::Expected<HeadText, wire::DecodeError> HeadIntake::take_piece(std::string_view input) {
  // In slices, so that a long body behind the head is not copied as well.
  constexpr std::size_t kSlice = 1024;
  std::size_t consumed = 0;
  while (consumed < input.size()) {
    const std::size_t before = pending_.size();
    const auto slice = input.substr(consumed, kSlice);
    pending_.append(slice);
    CheckOnly<FirstLine> check;
    const auto found = scan_head(std::string_view(pending_), limits_, progress_, check);
    if (!found) return wire::Unexpected(found.error());
    if (*found == Scan::complete) {
      return HeadText{consumed + (progress_.line - before), std::string_view(pending_).substr(0, progress_.line)};
    }
    consumed += slice.size();
  }
  return HeadText{consumed, {}};
}

template <class Lines>
wire::Expected<HeadText, wire::DecodeError> HeadIntake::take(std::string_view input, Lines& lines) {
  if (pending_.empty()) {
    const auto found = scan_head(input, limits_, progress_, lines);
    if (!found) return wire::Unexpected(found.error());
    if (*found == Scan::complete) return HeadText{progress_.line, input.substr(0, progress_.line)};
    pending_.assign(input);
    return HeadText{input.size(), {}};
  }
  const auto head = take_piece<typename Lines::FirstLine>(input);
  if (!head || head->text.empty()) return head;
  HeadProgress from_the_start;
  const auto found = scan_head(head->text, limits_, from_the_start, lines);
  if (!found) return wire::Unexpected(found.error());
  return head;
}

}  // namespace pontage::http1
