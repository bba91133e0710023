#include <algorithm>

#include "protocols/http1/decoder.h"
#include "protocols/http1/head_scan.h"
#include "protocols/http1/scan.h"

namespace pontage::http1 {
namespace {

using message::BodyKind;
using wire::DecodeError;

constexpr std::size_t kMaxChunkLine = 4096;
constexpr std::uint8_t kMaxSizeDigits = 16;
constexpr std::uint64_t kMaxSize = 0x7fffffffffffffffULL;

}  // namespace

void BodyDecoder::start(const message::BodyFraming& framing, const wire::HeadLimits& limits,
                        message::Arena& arena) noexcept {
  framing_ = framing;
  limits_ = limits;
  trailers_ = message::HeaderList(arena);
  std::string().swap(line_);
  remaining_ = framing.kind == BodyKind::exact ? framing.length : 0;
  line_bytes_ = 0;
  trailer_bytes_ = 0;
  size_digits_ = 0;
  state_ = State::size;
  done_ = framing.kind == BodyKind::none || (framing.kind == BodyKind::exact && remaining_ == 0);
  failed_ = false;
}

wire::Expected<BodyStep, DecodeError> BodyDecoder::decode(std::string_view input) {
  if (failed_) return wire::Unexpected(error_);
  if (done_) return BodyStep{0, BodyEvent::end, {}};
  if (input.empty()) return BodyStep{};
  switch (framing_.kind) {
    case BodyKind::exact: {
      const auto piece = take_data(input);
      done_ = remaining_ == 0;
      return BodyStep{piece.size(), BodyEvent::data, piece};
    }
    case BodyKind::until_close: return BodyStep{input.size(), BodyEvent::data, input};
    case BodyKind::chunked: return decode_chunked(input);
    case BodyKind::none: break;
  }
  return BodyStep{0, BodyEvent::end, {}};
}

std::string_view BodyDecoder::take_data(std::string_view input) noexcept {
  const auto piece = input.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, input.size())));
  remaining_ -= piece.size();
  return piece;
}

// RFC 9112 7.1. One line or piece of it a turn.
wire::Expected<BodyStep, DecodeError> BodyDecoder::decode_chunked(std::string_view input) {
  std::size_t at = 0;
  while (at < input.size()) {
    const auto rest = input.substr(at);
    if (state_ == State::data) {
      const auto piece = take_data(rest);
      if (remaining_ == 0) state_ = State::data_cr;
      return BodyStep{at + piece.size(), BodyEvent::data, piece};
    }
    const auto taken = take_framing(rest);
    if (!taken) {
      failed_ = true;
      error_ = taken.error();
      return wire::Unexpected(error_);
    }
    at += *taken;
    if (done_) return BodyStep{at, BodyEvent::end, {}};
  }
  return BodyStep{at, BodyEvent::need_more, {}};
}

BodyDecoder::Taken BodyDecoder::take_framing(std::string_view rest) {
  const auto malformed = wire::Unexpected(DecodeError::malformed_chunk);
  switch (state_) {
    case State::size: return take_size(rest);
    case State::size_space: return take_space(rest[0]);
    case State::extension: return take_extension(rest);
    case State::size_lf:
      if (rest[0] != '\n') return malformed;
      state_ = remaining_ == 0 ? State::trailer_line : State::data;
      return std::size_t{1};
    case State::data: break;  // has been dealt with by the caller
    case State::data_cr:
      if (rest[0] != '\r') return malformed;
      state_ = State::data_lf;
      return std::size_t{1};
    case State::data_lf:
      if (rest[0] != '\n') return malformed;
      state_ = State::size;
      size_digits_ = 0;
      line_bytes_ = 0;
      return std::size_t{1};
    case State::trailer_line: return take_trailer(rest);
    case State::trailer_end_lf: return end_trailer(rest);
  }
  return malformed;
}

// Hexadecimal digits, then CR or an extension: no sign, no "0x", no padding before CR. What others might read
// differently is refused.
BodyDecoder::Taken BodyDecoder::take_size(std::string_view rest) noexcept {
  const auto malformed = wire::Unexpected(DecodeError::malformed_chunk);
  std::size_t at = 0;
  for (; at < rest.size(); ++at) {
    const int digit = wire::hex_value(rest[at]);
    if (digit < 0) break;
    if (size_digits_ == kMaxSizeDigits || remaining_ > kMaxSize >> 4) return malformed;
    remaining_ = remaining_ << 4 | static_cast<std::uint64_t>(digit);
    ++size_digits_;
  }
  if (at == rest.size()) return at;
  if (size_digits_ == 0) return malformed;
  switch (rest[at]) {
    case '\r': state_ = State::size_lf; break;
    case ';': state_ = State::extension; break;
    case ' ':
    case '\t': state_ = State::size_space; break;
    default: return malformed;
  }
  return at + 1;
}

// RFC 9112 7.1.1 makes us pass over bad whitespace before an extension's semicolon.
BodyDecoder::Taken BodyDecoder::take_space(char c) noexcept {
  if (++line_bytes_ > kMaxChunkLine) return wire::Unexpected(DecodeError::chunk_line_too_long);
  if (c == ';') {
    state_ = State::extension;
  } else if (c != ' ' && c != '\t') {
    return wire::Unexpected(DecodeError::malformed_chunk);
  }
  return std::size_t{1};
}

// Extensions mean nothing to us (RFC 9112 7.1.1); a quoted string cannot hide the end of the line, as it may hold
// neither CR nor LF.
BodyDecoder::Taken BodyDecoder::take_extension(std::string_view rest) noexcept {
  const char* const stop = find_control(rest.data(), rest.data() + rest.size());
  const auto length = static_cast<std::size_t>(stop - rest.data());
  line_bytes_ += length;
  if (line_bytes_ > kMaxChunkLine) return wire::Unexpected(DecodeError::chunk_line_too_long);
  if (length == rest.size()) return length;
  if (*stop != '\r') return wire::Unexpected(DecodeError::malformed_chunk);
  state_ = State::size_lf;
  return length + 1;
}

BodyDecoder::Taken BodyDecoder::take_trailer(std::string_view rest) {
  const auto limit = field_limit(limits_, trailer_bytes_, DecodeError::malformed_trailer);
  const char* const stop = find_control(rest.data(), rest.data() + rest.size());
  const auto length = static_cast<std::size_t>(stop - rest.data());
  if (trailers_.size() == limits_.header_count && line_.size() + length != 0) {
    return wire::Unexpected(DecodeError::too_many_headers);
  }
  if (line_.size() + length > limit.bytes) return wire::Unexpected(limit.too_long);
  line_.append(rest.substr(0, length));
  if (length == rest.size()) return length;
  if (*stop != '\r') return wire::Unexpected(limit.malformed);
  state_ = State::trailer_end_lf;
  return length + 1;
}

BodyDecoder::Taken BodyDecoder::end_trailer(std::string_view rest) {
  const auto malformed = wire::Unexpected(DecodeError::malformed_trailer);
  if (rest[0] != '\n') return malformed;
  if (line_.empty()) {
    done_ = true;
    return std::size_t{1};
  }
  message::Header field;
  if (!split_field(line_, line_.data() + line_.size(), field)) return malformed;
  message::Arena& arena = *trailers_.arena();
  trailers_.add(arena.copy(field.name), arena.copy(field.value), field.id);
  trailer_bytes_ += line_.size() + 2;
  line_.clear();
  state_ = State::trailer_line;
  return std::size_t{1};
}

wire::Expected<void, DecodeError> BodyDecoder::finish() noexcept {
  if (failed_) return wire::Unexpected(error_);
  if (framing_.kind == BodyKind::until_close) done_ = true;
  if (done_) return {};
  failed_ = true;
  error_ = DecodeError::truncated;
  return wire::Unexpected(error_);
}

}  // namespace pontage::http1
