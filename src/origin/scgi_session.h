// SCGI and uwsgi as an application server speaks them: one request a connection, whose end is the answer's (ADAPTERS
// section 5). Both are one class over their decoders. Worker's thread only.
#pragma once

#include "protocols/scgi/request_decoder.h"
#include "protocols/uwsgi/request_decoder.h"
#include "src/origin/cgi_session.h"

namespace pontage::origin {

template <class Decoder>
class BlockSession final : public CgiSession {
 public:
  // `name` is the protocol's; `style` is how servers of that protocol tell the status.
  BlockSession(Worker& worker, util::UniqueFd fd, std::uint64_t number, std::string_view name, cgi::StatusStyle style)
      : CgiSession(worker, std::move(fd), number), name_(name), style_(style), decoder_(kLimits) {}

  Facts facts() const noexcept override { return {name_, number_, requests_}; }

 private:
  wire::Expected<cgi::RequestStep, wire::DecodeError> decode(std::string_view input) override {
    return decoder_.decode(input, work_->arena, variables_);
  }
  std::string_view wrap(std::string_view& piece) override { return std::exchange(piece, {}); }
  cgi::StatusStyle status_style() const noexcept override { return style_; }
  bool keeps() const noexcept override { return false; }

  std::string_view name_;
  cgi::StatusStyle style_;
  Decoder decoder_;
};

using ScgiSession = BlockSession<scgi::RequestDecoder>;
using UwsgiSession = BlockSession<uwsgi::RequestDecoder>;

}  // namespace pontage::origin
