#include "protocols/fastcgi/response_decoder.h"

#include <algorithm>

namespace pontage::fastcgi {

using wire::DecodeError;

bool ResponseDecoder::hold(std::string_view& rest, std::size_t want) noexcept {
  const std::size_t n = std::min(want - held_, rest.size());
  std::copy_n(rest.begin(), n, hold_.begin() + static_cast<std::ptrdiff_t>(held_));
  held_ += n;
  rest.remove_prefix(n);
  if (held_ < want) return false;
  held_ = 0;
  return true;
}

ResponseDecoder::Failure ResponseDecoder::take_header() noexcept {
  const auto u16 = [this](std::size_t at) { return std::size_t{hold_[at]} << 8 | hold_[at + 1]; };
  if (hold_[0] != kVersion) return DecodeError::bad_magic;
  type_ = static_cast<RecordType>(hold_[1]);
  const bool known = type_ == RecordType::stdout_ || type_ == RecordType::stderr_ || type_ == RecordType::end_request;
  if (!known || u16(2) != kRequestId) return DecodeError::unexpected_message;
  content_ = u16(4);
  padding_ = hold_[6];
  if (type_ == RecordType::end_request && content_ != 8) return DecodeError::bad_length;
  if (type_ == RecordType::stdout_) {
    if (output_ended_ && content_ > 0) return DecodeError::unexpected_message;
    output_ended_ = content_ == 0;
  }
  phase_ = Phase::content;
  return {};
}

ResponseDecoder::Failure ResponseDecoder::take_end(ResponseStep& step) const noexcept {
  for (std::size_t i = 0; i < 4; ++i) step.app_status = step.app_status << 8 | hold_[i];
  if (hold_[4] > static_cast<std::uint8_t>(ProtocolStatus::unknown_role)) return DecodeError::unknown_code;
  step.protocol_status = static_cast<ProtocolStatus>(hold_[4]);
  return {};
}

void ResponseDecoder::take_stream(std::string_view& rest, ResponseStep& step) noexcept {
  const std::size_t n = std::min(content_, rest.size());
  step.data = rest.substr(0, n);
  step.event = type_ == RecordType::stdout_ ? ResponseEvent::output : ResponseEvent::error_text;
  rest.remove_prefix(n);
  content_ -= n;
}

ResponseDecoder::Failure ResponseDecoder::take(std::string_view& rest, ResponseStep& step) noexcept {
  switch (phase_) {
    case Phase::header:
      if (hold(rest, kHeader)) return take_header();
      return {};
    case Phase::content:
      if (content_ == 0) {
        phase_ = Phase::padding;
      } else if (type_ != RecordType::end_request) {
        take_stream(rest, step);
      } else if (hold(rest, content_)) {
        content_ = 0;
        return take_end(end_);
      }
      return {};
    case Phase::padding: {
      const std::size_t n = std::min(padding_, rest.size());
      rest.remove_prefix(n);
      padding_ -= n;
      if (padding_ > 0) return {};
      phase_ = type_ == RecordType::end_request ? Phase::done : Phase::header;
      if (phase_ == Phase::done) {
        step = end_;
        step.event = ResponseEvent::end;
      }
      return {};
    }
    case Phase::done: return DecodeError::unexpected_message;
  }
  return {};
}

wire::Expected<ResponseStep, DecodeError> ResponseDecoder::decode(std::string_view input) noexcept {
  if (failure_) return wire::Unexpected(*failure_);
  std::string_view rest = input;
  ResponseStep step;
  // A record without content or padding ends without a further byte.
  const auto can_move = [&] {
    return !rest.empty() || (phase_ == Phase::content && content_ == 0) || (phase_ == Phase::padding && padding_ == 0);
  };
  while (step.event == ResponseEvent::need_more && can_move()) {
    failure_ = take(rest, step);
    if (failure_) return wire::Unexpected(*failure_);
  }
  step.consumed = input.size() - rest.size();
  return step;
}

}  // namespace pontage::fastcgi
