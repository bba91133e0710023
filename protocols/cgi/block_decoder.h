// What the server's sides of SCGI and uwsgi have in common: a block of variables of a size told beforehand, and a body
// of CONTENT_LENGTH raw bytes behind it, one request a connection. Every byte is hostile; a block is gathered, at most
// the limits, a body never is. After an error it stays failed. One thread at a time.
//
// A Format is the encoding: `Size size(std::string_view& rest)` takes the block's size off the front, 0 while that has
// not come whole, and `static read(block, limits, list)` takes the variables out of a block.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocols/cgi/gathered.h"
#include "protocols/cgi/request_head.h"

namespace pontage::cgi {

using BlockSize = wire::Expected<std::size_t, wire::DecodeError>;

template <class Format>
class BlockDecoder {
 public:
  explicit BlockDecoder(const wire::HeadLimits& limits) noexcept : limits_(limits) {}

  // At most one event a call: a head, its body in pieces, an end. On `head`, `variables` is complete, with its texts in
  // `arena`. Errors: those of the format, bad_content_length, headers_too_long and too_many_headers, and
  // unexpected_message for any byte behind the request.
  wire::Expected<RequestStep, wire::DecodeError> decode(std::string_view input, message::Arena& arena,
                                                        VariableList& variables) {
    if (failure_) return wire::Unexpected(*failure_);
    std::string_view rest = input;
    RequestStep step;
    // The end of a body needs no further byte.
    const auto can_move = [&] { return !rest.empty() || (state_ == State::body && body_left_ == 0); };
    while (step.event == RequestEvent::need_more && can_move()) {
      failure_ = take(rest, step, arena, variables);
      if (failure_) return wire::Unexpected(*failure_);
    }
    step.consumed = input.size() - rest.size();
    return step;
  }

  // True after `end`.
  bool done() const noexcept { return state_ == State::done && !failure_; }

 private:
  enum class State : std::uint8_t { size, block, body, done };
  using Failure = std::optional<wire::DecodeError>;

  Failure take(std::string_view& rest, RequestStep& step, message::Arena& arena, VariableList& variables) {
    switch (state_) {
      case State::size: {
        const auto size = format_.size(rest);
        if (!size) return size.error();
        if (*size > limits_.headers) return wire::DecodeError::headers_too_long;
        size_ = *size;
        if (size_ > 0) state_ = State::block;
        return {};
      }
      case State::block:
        if (!block_.take(rest, size_)) return {};
        return take_block(step, arena, variables);
      case State::body:
        if (body_left_ == 0) {
          state_ = State::done;
          step.event = RequestEvent::end;
          return {};
        }
        step.data = rest.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(body_left_, rest.size())));
        step.event = RequestEvent::body;
        rest.remove_prefix(step.data.size());
        body_left_ -= step.data.size();
        return {};
      case State::done: return wire::DecodeError::unexpected_message;
    }
    return {};
  }

  Failure take_block(RequestStep& step, message::Arena& arena, VariableList& variables) {
    variables = VariableList(arena);
    const auto block = arena.copy(block_.text());
    block_.clear();
    if (const auto error = Format::read(block, limits_, variables)) return error;
    const auto length = content_length(variables);
    if (!length) return length.error();
    body_left_ = length->value_or(0);
    state_ = State::body;
    step.event = RequestEvent::head;
    return {};
  }

  wire::HeadLimits limits_;
  Format format_;
  Gathered block_;
  std::size_t size_ = 0;
  std::uint64_t body_left_ = 0;
  State state_ = State::size;
  Failure failure_;
};

}  // namespace pontage::cgi
