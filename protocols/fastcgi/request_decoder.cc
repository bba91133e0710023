#include "protocols/fastcgi/request_decoder.h"

#include <algorithm>

namespace pontage::fastcgi {

using cgi::RequestEvent;
using wire::DecodeError;

namespace {

constexpr std::size_t kBeginSize = 8;

std::size_t byte_at(std::string_view text, std::size_t at) noexcept {
  return static_cast<unsigned char>(text[at]);
}

// A length of one byte or four; nullopt when the stream ends before it.
std::optional<std::size_t> next_length(std::string_view& rest) noexcept {
  if (rest.empty()) return std::nullopt;
  std::size_t length = byte_at(rest, 0);
  const std::size_t size = length < kLongLength ? 1 : 4;
  if (rest.size() < size) return std::nullopt;
  length &= kLongLength - 1;
  for (std::size_t i = 1; i < size; ++i) length = length << 8 | byte_at(rest, i);
  rest.remove_prefix(size);
  return length;
}

}  // namespace

wire::Expected<cgi::RequestStep, DecodeError> RequestDecoder::decode(std::string_view input, message::Arena& arena,
                                                                     cgi::VariableList& variables) {
  if (failure_) return wire::Unexpected(*failure_);
  std::string_view rest = input;
  cgi::RequestStep step;
  // A record without content or padding ends without a further byte.
  const auto can_move = [&] {
    return !rest.empty() || (phase_ == Phase::content && content_ == 0) || (phase_ == Phase::padding && padding_ == 0);
  };
  while (step.event == RequestEvent::need_more && can_move()) {
    failure_ = take(rest, step, arena, variables);
    if (failure_) return wire::Unexpected(*failure_);
  }
  step.consumed = input.size() - rest.size();
  return step;
}

RequestDecoder::Failure RequestDecoder::take(std::string_view& rest, cgi::RequestStep& step, message::Arena& arena,
                                             cgi::VariableList& variables) {
  switch (phase_) {
    case Phase::header:
      if (header_.take(rest, kHeader)) return take_header();
      return {};
    case Phase::content:
      if (content_ > 0) return take_content(rest, step);
      phase_ = Phase::padding;
      return {};
    case Phase::padding: {
      const auto n = std::min(padding_, rest.size());
      rest.remove_prefix(n);
      padding_ -= n;
      if (padding_ > 0) return {};
      phase_ = Phase::header;
      return end_record(step, arena, variables);
    }
  }
  return {};
}

bool RequestDecoder::is_due(RecordType type) const noexcept {
  if (type == RecordType::abort_request) return true;
  switch (stage_) {
    case Stage::idle: return type == RecordType::begin_request && keep_ == Keep::yes;
    case Stage::params: return type == RecordType::params;
    case Stage::input: return type == RecordType::stdin_;
  }
  return false;
}

RequestDecoder::Failure RequestDecoder::take_header() {
  const auto text = header_.text();
  if (byte_at(text, 0) != kVersion) return DecodeError::bad_magic;
  type_ = static_cast<RecordType>(byte_at(text, 1));
  const std::size_t id = byte_at(text, 2) << 8 | byte_at(text, 3);
  if (id != kRequestId || !is_due(type_)) return DecodeError::unexpected_message;
  content_ = byte_at(text, 4) << 8 | byte_at(text, 5);
  padding_ = byte_at(text, 6);
  header_.clear();
  empty_ = content_ == 0;
  phase_ = Phase::content;
  if (type_ == RecordType::begin_request && content_ != kBeginSize) return DecodeError::bad_length;
  if (type_ == RecordType::abort_request && content_ != 0) return DecodeError::bad_length;
  if (type_ == RecordType::stdin_ && input_left_ && content_ > *input_left_) return DecodeError::bad_length;
  if (type_ == RecordType::params && params_.size() + content_ > limits_.headers) return DecodeError::headers_too_long;
  return {};
}

RequestDecoder::Failure RequestDecoder::take_content(std::string_view& rest, cgi::RequestStep& step) {
  switch (type_) {
    case RecordType::params: {
      const auto before = params_.size();
      params_.take(rest, before + content_);
      content_ -= params_.size() - before;
      return {};
    }
    case RecordType::stdin_: take_input(rest, step); return {};
    default:
      if (!header_.take(rest, kBeginSize)) return {};
      content_ = 0;
      return take_begin();
  }
}

RequestDecoder::Failure RequestDecoder::take_begin() {
  const auto text = header_.text();
  const std::size_t role = byte_at(text, 0) << 8 | byte_at(text, 1);
  const auto flags = byte_at(text, 2);
  if (role != kResponder || flags > 1) return DecodeError::unknown_code;
  keep_ = flags == 1 ? Keep::yes : Keep::no;
  header_.clear();
  stage_ = Stage::params;
  return {};
}

void RequestDecoder::take_input(std::string_view& rest, cgi::RequestStep& step) noexcept {
  const auto n = std::min(content_, rest.size());
  if (input_left_) *input_left_ -= n;
  step.event = RequestEvent::body;
  step.data = rest.substr(0, n);
  rest.remove_prefix(n);
  content_ -= n;
}

RequestDecoder::Failure RequestDecoder::end_record(cgi::RequestStep& step, message::Arena& arena,
                                                   cgi::VariableList& variables) {
  if (type_ == RecordType::abort_request) {
    params_.clear();
    stage_ = Stage::idle;
    step.event = RequestEvent::aborted;
    return {};
  }
  if (!empty_) return {};
  if (type_ == RecordType::params) {
    if (const auto error = take_params(arena, variables)) return error;
    stage_ = Stage::input;
    step.event = RequestEvent::head;
    return {};
  }
  if (input_left_.value_or(0) > 0) return DecodeError::bad_length;
  stage_ = Stage::idle;
  step.event = RequestEvent::end;
  return {};
}

RequestDecoder::Failure RequestDecoder::take_params(message::Arena& arena, cgi::VariableList& variables) {
  variables = cgi::VariableList(arena);
  auto rest = arena.copy(params_.text());
  params_.clear();
  while (!rest.empty()) {
    const auto name = next_length(rest);
    const auto value = name ? next_length(rest) : std::nullopt;
    if (!value || *name > rest.size() || *value > rest.size() - *name) return DecodeError::bad_length;
    if (const auto error = cgi::take_variable(variables, rest.substr(0, *name), rest.substr(*name, *value), limits_)) {
      return error;
    }
    rest.remove_prefix(*name + *value);
  }
  const auto length = cgi::content_length(variables);
  if (!length) return length.error();
  input_left_ = *length;
  return {};
}

}  // namespace pontage::fastcgi
