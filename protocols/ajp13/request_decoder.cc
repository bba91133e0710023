#include "protocols/ajp13/request_decoder.h"

#include <algorithm>

#include "protocols/ajp13/forward_request.h"
#include "protocols/wire/cursor.h"

namespace pontage::ajp13 {

using wire::DecodeError;

wire::Expected<RequestStep, DecodeError> RequestDecoder::decode(std::string_view input, message::Arena& arena,
                                                                message::RequestHead& head, Attributes& attributes) {
  if (failure_) return wire::Unexpected(*failure_);
  RequestStep step;
  auto rest = input;
  while (step.event == RequestEvent::need_more && !rest.empty()) {
    if (data_left_ > 0) {
      take_data(rest, step);
    } else {
      failure_ = take_packet(rest, arena, head, attributes, step);
    }
    if (failure_) return wire::Unexpected(*failure_);
  }
  step.consumed = input.size() - rest.size();
  return step;
}

wire::Expected<void, DecodeError> RequestDecoder::finish() const noexcept {
  if (failure_) return wire::Unexpected(*failure_);
  if (!packet_.empty() || awaited_ > 0) return wire::Unexpected(DecodeError::truncated);
  return {};
}

RequestDecoder::Failure RequestDecoder::take_packet(std::string_view& rest, message::Arena& arena,
                                                    message::RequestHead& head, Attributes& attributes,
                                                    RequestStep& step) {
  const auto start = packet_.peek(rest, kPacketHeader);
  if (!start) return std::nullopt;
  wire::Cursor in(*start);
  if (in.u16be() != kToContainer) return DecodeError::bad_magic;
  const std::size_t payload = in.u16be().value_or(0);
  if (kPacketHeader + payload > packet_size_) return DecodeError::packet_too_long;
  if (awaited_ > 0) return start_body(rest, payload, step);
  return take_message(rest, payload, arena, head, attributes, step);
}

// Both ways to say "nothing more" are taken: no payload at all (A16), and a length of 0.
RequestDecoder::Failure RequestDecoder::start_body(std::string_view& rest, std::size_t payload, RequestStep& step) {
  std::size_t length = 0;
  if (payload > 0) {
    if (payload < 2) return DecodeError::bad_length;
    const auto packet = packet_.peek(rest, kBodyHeader);
    if (!packet) return std::nullopt;
    wire::Cursor in(packet->substr(kPacketHeader));
    length = in.u16be().value_or(0);
    if (length + 2 != payload) return DecodeError::bad_length;
  }
  if (limited_ == Limited::yes && length > body_left_) return DecodeError::bad_length;
  packet_.drop(rest, payload > 0 ? kBodyHeader : kPacketHeader);
  data_left_ = length;
  if (length == 0) {
    --awaited_;
    step.event = RequestEvent::body_end;
  }
  return std::nullopt;
}

void RequestDecoder::take_data(std::string_view& rest, RequestStep& step) noexcept {
  const auto take = std::min(data_left_, rest.size());
  step.event = RequestEvent::body;
  step.data = rest.substr(0, take);
  rest.remove_prefix(take);
  data_left_ -= take;
  if (limited_ == Limited::yes) body_left_ -= take;
  if (data_left_ == 0) --awaited_;
}

RequestDecoder::Failure RequestDecoder::take_message(std::string_view& rest, std::size_t payload, message::Arena& arena,
                                                     message::RequestHead& head, Attributes& attributes,
                                                     RequestStep& step) {
  if (payload == 0) return DecodeError::unexpected_message;  // an empty body packet that nobody asked for
  const auto typed = packet_.peek(rest, kPacketHeader + 1);
  if (!typed) return std::nullopt;
  const auto type = static_cast<PacketType>(static_cast<std::uint8_t>(typed->back()));
  if (type == PacketType::cping) {
    if (payload != 1) return DecodeError::bad_length;
    packet_.drop(rest, kPacketHeader + 1);
    step.event = RequestEvent::cping;
    return std::nullopt;
  }
  if (type != PacketType::forward_request) return DecodeError::unknown_code;
  const auto packet = packet_.peek(rest, kPacketHeader + payload);
  if (!packet) return std::nullopt;
  if (auto error = read_forward_request(packet->substr(kPacketHeader), limits_, arena, head, attributes)) return error;
  packet_.drop(rest, kPacketHeader + payload);
  const bool is_exact = head.body.kind == message::BodyKind::exact;
  limited_ = is_exact ? Limited::yes : Limited::no;
  body_left_ = is_exact ? head.body.length : 0;
  awaited_ = body_left_ > 0 ? 1 : 0;
  step.event = RequestEvent::forward_request;
  return std::nullopt;
}

}  // namespace pontage::ajp13
