// The application's side of FastCGI, incoming: BEGIN_REQUEST, PARAMS, STDIN and ABORT_REQUEST, for the reference origin
// (`pontage origin`) and for tests (ADAPTERS F1-F4, F14). Owned by one connection, used on one thread. Every byte is
// hostile. PARAMS are gathered, at most the limits, and read as the one stream they are: a pair may straddle records.
// STDIN never is gathered. Requests follow each other on a connection, with id 1. After an error it stays failed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "protocols/cgi/gathered.h"
#include "protocols/cgi/request_head.h"
#include "protocols/fastcgi/codes.h"

namespace pontage::fastcgi {

class RequestDecoder {
 public:
  explicit RequestDecoder(const wire::HeadLimits& limits) noexcept : limits_(limits) {}

  // At most one event a call. On `head`, `variables` is complete, with its texts in `arena`; `end` is the empty STDIN.
  // `aborted` may come at any time, also behind a request's end. Errors: bad_magic (version), unexpected_message
  // (another type than is due, another id, a second request when the first was not to keep the connection),
  // unknown_code (another role than responder, unknown flags), bad_length (a record of the wrong size, a pair longer
  // than the stream, more or less STDIN than CONTENT_LENGTH), bad_string, bad_content_length, headers_too_long,
  // too_many_headers.
  wire::Expected<cgi::RequestStep, wire::DecodeError> decode(std::string_view input, message::Arena& arena,
                                                             cgi::VariableList& variables);

  // What the request at hand, or the last one, asked for.
  Keep keep() const noexcept { return keep_; }
  // True between requests, with nothing half read.
  bool idle() const noexcept {
    return stage_ == Stage::idle && phase_ == Phase::header && header_.size() == 0 && !failure_;
  }

 private:
  enum class Stage : std::uint8_t { idle, params, input };  // which stream is due
  enum class Phase : std::uint8_t { header, content, padding };
  using Failure = std::optional<wire::DecodeError>;

  bool is_due(RecordType type) const noexcept;
  Failure take(std::string_view& rest, cgi::RequestStep& step, message::Arena& arena, cgi::VariableList& variables);
  Failure take_header();
  Failure take_content(std::string_view& rest, cgi::RequestStep& step);
  Failure take_begin();
  void take_input(std::string_view& rest, cgi::RequestStep& step) noexcept;
  Failure end_record(cgi::RequestStep& step, message::Arena& arena, cgi::VariableList& variables);
  Failure take_params(message::Arena& arena, cgi::VariableList& variables);

  wire::HeadLimits limits_;
  cgi::Gathered header_;  // of a record, or the eight bytes of BEGIN_REQUEST
  cgi::Gathered params_;
  std::size_t content_ = 0;  // to come of the record at hand
  std::size_t padding_ = 0;
  std::optional<std::uint64_t> input_left_;  // by CONTENT_LENGTH; nullopt: as much as there is
  RecordType type_ = RecordType::begin_request;
  Keep keep_ = Keep::yes;
  Stage stage_ = Stage::idle;
  Phase phase_ = Phase::header;
  bool empty_ = false;  // the record at hand has no content: the end of its stream
  Failure failure_;
};

}  // namespace pontage::fastcgi
