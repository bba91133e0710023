// The gateway's side of FastCGI, incoming: the records an application sends in answer to one request (ADAPTERS F5, F6).
// Owned by one backend connection, used on its worker's thread. Every byte is hostile. Nothing is gathered but a cut
// header and the eight bytes of END_REQUEST; what STDOUT carries is a CGI response (protocols/cgi). After an error it
// stays failed: the connection must be closed (X20).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "protocols/fastcgi/codes.h"
#include "protocols/wire/decode_error.h"
#include "protocols/wire/expected.h"

namespace pontage::fastcgi {

enum class ResponseEvent : std::uint8_t {
  need_more,   // all input is consumed
  output,      // `data`: the next bytes of STDOUT
  error_text,  // `data`: the next bytes of STDERR, for the log (F7)
  end,         // END_REQUEST with its padding: the authoritative end (F6)
};

struct ResponseStep {
  std::size_t consumed = 0;
  ResponseEvent event = ResponseEvent::need_more;
  std::string_view data{};  // never empty, a view of the input
  std::uint32_t app_status = 0;
  ProtocolStatus protocol_status = ProtocolStatus::request_complete;
};

class ResponseDecoder {
 public:
  // At most one event a call. Errors: bad_magic (version), unexpected_message (another type or request id, output after
  // the end of its stream, any byte after END_REQUEST), bad_length (END_REQUEST of another size than eight),
  // unknown_code (a protocol status that does not exist).
  wire::Expected<ResponseStep, wire::DecodeError> decode(std::string_view input) noexcept;
  // True after `end`, with nothing half read: only then may the connection be kept.
  bool done() const noexcept { return phase_ == Phase::done && !failure_; }
  // True when no record is half read.
  bool between_records() const noexcept {
    const bool whole = content_ == 0 && padding_ == 0 && type_ != RecordType::end_request;
    return phase_ == Phase::header ? held_ == 0 : phase_ != Phase::done && whole;
  }
  // Ready for the next request's answer. Only when done(), or before the first.
  void reset() noexcept { *this = ResponseDecoder(); }

 private:
  enum class Phase : std::uint8_t { header, content, padding, done };
  using Failure = std::optional<wire::DecodeError>;

  Failure take_header() noexcept;
  Failure take_end(ResponseStep& step) const noexcept;
  // Moves up to `want` bytes in all into hold_; true when they are there.
  bool hold(std::string_view& rest, std::size_t want) noexcept;
  Failure take(std::string_view& rest, ResponseStep& step) noexcept;
  void take_stream(std::string_view& rest, ResponseStep& step) noexcept;

  std::array<unsigned char, kHeader> hold_{};
  std::size_t held_ = 0;
  std::size_t content_ = 0;  // to come of the record at hand
  std::size_t padding_ = 0;
  RecordType type_ = RecordType::stdout_;
  Phase phase_ = Phase::header;
  bool output_ended_ = false;
  ResponseStep end_;  // kept until END_REQUEST's padding has come
  Failure failure_;
};

}  // namespace pontage::fastcgi
