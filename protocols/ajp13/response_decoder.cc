#include "protocols/ajp13/response_decoder.h"

#include <algorithm>
#include <array>

#include "protocols/ajp13/send_headers.h"
#include "protocols/wire/cursor.h"

namespace pontage::ajp13 {

using wire::DecodeError;

void ResponseDecoder::start(Phase phase) noexcept {
  packet_.reset();
  chunk_left_ = 0;
  pad_ = Pad::none;
  phase_ = phase;
  failure_.reset();
}

wire::Expected<ResponseStep, DecodeError> ResponseDecoder::decode(std::string_view input, message::Arena& arena,
                                                                  message::Method request_method,
                                                                  message::ResponseHead& head) {
  if (failure_) return wire::Unexpected(*failure_);
  ResponseStep step;
  auto rest = input;
  while (step.event == ResponseEvent::need_more && !rest.empty()) {
    failure_ = chunk_left_ > 0 || pad_ == Pad::due ? take_chunk(rest, step)
                                                   : take_packet(rest, arena, request_method, head, step);
    if (failure_) return wire::Unexpected(*failure_);
  }
  step.consumed = input.size() - rest.size();
  return step;
}

wire::Expected<void, DecodeError> ResponseDecoder::finish() const noexcept {
  if (failure_) return wire::Unexpected(*failure_);
  if (!done()) return wire::Unexpected(DecodeError::truncated);
  return {};
}

bool ResponseDecoder::done() const noexcept {
  return phase_ == Phase::done && packet_.empty() && chunk_left_ == 0 && pad_ == Pad::none && !failure_;
}

// A21. A chunk is looked at later too: an empty one is a flush, which is tolerated in every phase of a response (A23).
bool ResponseDecoder::is_legal(Phase phase, PacketType type) noexcept {
  switch (type) {
    case PacketType::send_headers: return phase == Phase::before_head;
    case PacketType::get_body_chunk: return phase == Phase::before_head || phase == Phase::body;
    case PacketType::send_body_chunk: return phase != Phase::ping;
    case PacketType::end_response: return phase == Phase::body;
    case PacketType::cpong: return phase == Phase::ping;
    case PacketType::forward_request:
    case PacketType::cping: return false;
  }
  return false;
}

ResponseDecoder::Failure ResponseDecoder::take_packet(std::string_view& rest, message::Arena& arena,
                                                      message::Method request_method, message::ResponseHead& head,
                                                      ResponseStep& step) {
  const auto start = packet_.peek(rest, kPacketHeader);
  if (!start) return std::nullopt;
  wire::Cursor in(*start);
  if (in.u16be() != kToGateway) return DecodeError::bad_magic;
  const std::size_t payload = in.u16be().value_or(0);
  if (payload == 0) return DecodeError::bad_length;
  if (kPacketHeader + payload > packet_size_) return DecodeError::packet_too_long;

  const auto typed = packet_.peek(rest, kPacketHeader + 1);
  if (!typed) return std::nullopt;
  const auto type = static_cast<PacketType>(static_cast<std::uint8_t>(typed->back()));
  switch (type) {
    case PacketType::send_headers:
    case PacketType::send_body_chunk:
    case PacketType::get_body_chunk:
    case PacketType::end_response:
    case PacketType::cpong: break;
    default: return DecodeError::unknown_code;
  }
  if (!is_legal(phase_, type)) return DecodeError::unexpected_message;
  if (type == PacketType::send_body_chunk) return start_chunk(rest, payload, step);
  if (type == PacketType::send_headers) return take_head(rest, payload, arena, request_method, head, step);
  return take_short(rest, payload, type, step);
}

ResponseDecoder::Failure ResponseDecoder::take_head(std::string_view& rest, std::size_t payload, message::Arena& arena,
                                                    message::Method request_method, message::ResponseHead& head,
                                                    ResponseStep& step) {
  const auto packet = packet_.peek(rest, kPacketHeader + payload);
  if (!packet) return std::nullopt;
  if (auto error = read_send_headers(packet->substr(kPacketHeader), limits_, arena, request_method, head)) return error;
  packet_.drop(rest, kPacketHeader + payload);
  phase_ = Phase::body;
  step.event = ResponseEvent::head;
  return std::nullopt;
}

ResponseDecoder::Failure ResponseDecoder::take_short(std::string_view& rest, std::size_t payload, PacketType type,
                                                     ResponseStep& step) {
  // A wrong length is known before the bytes are there, so nothing is gathered for it.
  const bool fits = type == PacketType::get_body_chunk ? payload == 3
                    : type == PacketType::cpong        ? payload == 1
                                                       : payload == 1 || payload == 2;
  if (!fits) return DecodeError::bad_length;
  const auto packet = packet_.peek(rest, kPacketHeader + payload);
  if (!packet) return std::nullopt;
  wire::Cursor in(packet->substr(kPacketHeader + 1));
  if (type == PacketType::get_body_chunk) {
    step.event = ResponseEvent::get_body_chunk;
    step.requested = in.u16be().value_or(0);
  } else if (type == PacketType::cpong) {
    step.event = ResponseEvent::cpong;
    phase_ = Phase::done;
  } else {
    // Only a plain 1 keeps the connection; a missing byte does not (A25).
    step.event = ResponseEvent::end;
    step.reuse = in.u8() == 1 ? Reuse::yes : Reuse::no;
    phase_ = Phase::done;
  }
  packet_.drop(rest, kPacketHeader + payload);
  return std::nullopt;
}

// The length inside must agree with the packet's, with or without the NUL: a peer's larger one would make us pass on
// what lies behind the packet (A23).
ResponseDecoder::Failure ResponseDecoder::start_chunk(std::string_view& rest, std::size_t payload, ResponseStep& step) {
  if (payload < 3) return DecodeError::bad_length;
  const auto packet = packet_.peek(rest, kChunkHeader);
  if (!packet) return std::nullopt;
  wire::Cursor in(packet->substr(kPacketHeader + 1));
  const std::size_t length = in.u16be().value_or(0);
  if (length + 3 != payload && length + 4 != payload) return DecodeError::bad_length;
  const bool is_flush = length == 0;
  if (!is_flush && phase_ != Phase::body) return DecodeError::unexpected_message;
  if (length == 0) return take_flush(rest, payload, step);
  if (phase_ != Phase::body) return DecodeError::unexpected_message;
  packet_.drop(rest, kChunkHeader);
  pad_ = length + 4 == payload ? Pad::due : Pad::none;
  chunk_left_ = length;
  return std::nullopt;
}

ResponseDecoder::Failure ResponseDecoder::take_flush(std::string_view& rest, std::size_t payload, ResponseStep& step) {
  const auto packet = packet_.peek(rest, kPacketHeader + payload);
  if (!packet) return std::nullopt;
  if (packet->size() > kChunkHeader && packet->back() != '\0') return DecodeError::bad_string;
  packet_.drop(rest, kPacketHeader + payload);
  // Before the head and after the end there is nothing to flush (A23).
  if (phase_ == Phase::body) step.event = ResponseEvent::flush;
  return std::nullopt;
}

ResponseDecoder::Failure ResponseDecoder::take_chunk(std::string_view& rest, ResponseStep& step) noexcept {
  const auto take = std::min(chunk_left_, rest.size());
  if (take > 0) {
    step.event = ResponseEvent::body;
    step.data = rest.substr(0, take);
    rest.remove_prefix(take);
    chunk_left_ -= take;
  }
  if (chunk_left_ > 0 || pad_ == Pad::none || rest.empty()) return std::nullopt;
  if (rest.front() != '\0') {
    // The data is given out first, so that a failure does not depend on where the input was cut.
    if (take > 0) return std::nullopt;
    return DecodeError::bad_string;
  }
  rest.remove_prefix(1);
  pad_ = Pad::none;
  return std::nullopt;
}

}  // namespace pontage::ajp13
