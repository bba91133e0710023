// FastCgiSession: FastCGI as an application speaks it, one request after another on a connection when the gateway asks
// for that (ADAPTERS F1-F14). Worker's thread only.
#pragma once

#include "protocols/fastcgi/request_decoder.h"
#include "src/origin/cgi_session.h"

namespace pontage::origin {

class FastCgiSession final : public CgiSession {
 public:
  FastCgiSession(Worker& worker, util::UniqueFd fd, std::uint64_t number)
      : CgiSession(worker, std::move(fd), number), decoder_(kLimits) {}

  Facts facts() const noexcept override { return {"fastcgi", number_, requests_}; }
  void put_end() override;

 private:
  wire::Expected<cgi::RequestStep, wire::DecodeError> decode(std::string_view input) override {
    return decoder_.decode(input, work_->arena, variables_);
  }
  std::string_view wrap(std::string_view& piece) override;
  cgi::StatusStyle status_style() const noexcept override { return cgi::StatusStyle::field; }
  bool keeps() const noexcept override { return decoder_.keep() == fastcgi::Keep::yes; }
  std::span<const CgiFault> more_faults() const noexcept override;

  fastcgi::RequestDecoder decoder_;
};

}  // namespace pontage::origin
