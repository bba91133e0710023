// The part that request and response heads share: splitting a head into lines, in order, with the limits. Used by the
// head decoders here and in protocols/cgi; one thread at a time. A line is looked at once it is complete, a limit as
// soon as the bytes pass it, so that every way of cutting the input gives the same answer.
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

// "name: value" without its CRLF, as a field whose texts are views of `line`. False for an empty name, anything but
// token characters before the colon (so also a folded line, a leading space, a space before the colon) and no colon at
// all (RFC 9112 5.1, 5.2). `readable` is where the bytes behind the line end: a wide read may look at them.
inline bool split_field(std::string_view line, const char* readable, message::Header& field) noexcept {
  const char* const colon = find_colon(line.data(), readable);
  const auto length = static_cast<std::size_t>(colon - line.data());
  if (length >= line.size()) return false;
  field.name = line.substr(0, length);
  field.id = message::lookup_header(field.name);
  // A name with an id is a token: only the others need a look at every byte.
  if (field.id == message::HeaderId::unknown && !wire::is_token(field.name)) return false;
  field.value = wire::trim_ows(line.substr(length + 1));
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

enum class LineEnd : std::uint8_t { found, need_more, refused };

// Why `stop`, the first control byte of a line of `length` bytes, does not end it; sets `error` when it is refused.
inline LineEnd no_line_end(const char* stop, const char* end, std::size_t length, const LineLimit& limit,
                           wire::DecodeError& error) noexcept {
  const bool too_long = length > limit.bytes;
  if (!too_long && (stop == end || (*stop == '\r' && stop + 1 == end))) return LineEnd::need_more;
  error = too_long ? limit.too_long : limit.malformed;
  return LineEnd::refused;
}

// Finds the end of the line at `at.line`; `line` is set when it is complete, CRLF not included.
inline LineEnd scan_line(std::string_view head, const LineLimit& limit, HeadProgress& at, std::string_view& line,
                         wire::DecodeError& error) noexcept {
  const char* const start = head.data() + at.line;
  const char* const end = head.data() + head.size();
  const char* const stop = find_control(head.data() + at.scanned, end);
  const auto length = static_cast<std::size_t>(stop - start);
  if (length > limit.bytes || end - stop < 2 || stop[0] != '\r' || stop[1] != '\n') {
    at.scanned = at.line + length;
    return no_line_end(stop, end, length, limit, error);
  }
  line = {start, length};
  at.line += length + 2;
  at.scanned = at.line;
  return LineEnd::found;
}

inline ScanResult unfinished(LineEnd end, wire::DecodeError error) noexcept {
  if (end == LineEnd::need_more) return Scan::need_more;
  return wire::Unexpected(error);
}

// Reads field lines up to and with the empty one. `at` is a copy, so that it can stay in registers.
template <class Message>
LineEnd scan_fields(std::string_view head, const wire::HeadLimits& limits, HeadProgress& progress, Message& message,
                    wire::DecodeError& error) {
  HeadProgress at = progress;
  LineEnd end;
  for (;;) {
    if (at.fields == limits.header_count && at.line < head.size() && head[at.line] != '\r') {
      error = wire::DecodeError::too_many_headers;
      end = LineEnd::refused;
      break;
    }
    const auto limit = field_limit(limits, at.line - at.fields_at, wire::DecodeError::malformed_header);
    std::string_view line;
    end = scan_line(head, limit, at, line, error);
    if (end != LineEnd::found || line.empty()) break;
    message::Header field;
    if (!split_field(line, head.data() + head.size(), field)) {
      error = wire::DecodeError::malformed_header;
      end = LineEnd::refused;
      break;
    }
    message.field(field);
    ++at.fields;
  }
  progress = at;
  return end;
}

// Reads lines of `head` from where `progress` stands. `message` gets each complete one: `first_line(line)` returns an
// Expected<void, DecodeError>, `field(header)` nothing; both see views of `head`. On complete, the head ends at
// `progress.line`.
template <class Message>
ScanResult scan_head(std::string_view head, const wire::HeadLimits& limits, HeadProgress& progress, Message& message) {
  wire::DecodeError error{};
  if (progress.fields_at == 0) {
    std::string_view line;
    const auto end = scan_line(head, Message::first_line_limit(limits), progress, line, error);
    if (end != LineEnd::found) return unfinished(end, error);
    if (const auto good = message.first_line(line); !good) return wire::Unexpected(good.error());
    progress.fields_at = progress.line;
  }
  const auto end = scan_fields(head, limits, progress, message, error);
  if (end != LineEnd::found) return unfinished(end, error);
  return Scan::complete;
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

// The fields of a head that is being read, and which of the few that decide about it are among them, so that the others
// cost no second look.
struct FieldLines {
  explicit FieldLines(message::Arena& arena) noexcept : headers(arena) {}

  void field(const message::Header& h) {
    headers.add(h.name, h.value, h.id);
    switch (h.id) {
      case message::HeaderId::connection: has_connection = true; break;
      case message::HeaderId::content_length:
      case message::HeaderId::transfer_encoding: has_framing = true; break;
      case message::HeaderId::expect: has_expect = true; break;
      default: break;
    }
  }

  message::HeaderList headers;
  bool has_connection = false;
  bool has_framing = false;
  bool has_expect = false;
};

// RFC 9112 9.3: "close" wins; without either option the version decides.
inline message::Persistence persistence_of(const FieldLines& lines, message::Version version) noexcept {
  bool keep = version != message::kHttp10;
  if (lines.has_connection) {
    for (const auto& h : lines.headers) {
      if (h.id != message::HeaderId::connection) continue;
      if (wire::iequals(h.value, "keep-alive")) {  // what nearly every browser sends
        keep = true;
        continue;
      }
      if (wire::list_has(h.value, "close")) return message::Persistence::close;
      keep = keep || wire::list_has(h.value, "keep-alive");
    }
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
  void field(const message::Header&) noexcept {}
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
