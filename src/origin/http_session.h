// HttpSession: HTTP/1.0 and 1.1 towards whoever asks the origin, with keep-alive and pipelining, on the codecs of
// protocols/http1. Worker's thread only.
#pragma once

#include "protocols/http1/decoder.h"
#include "src/origin/session.h"

namespace pontage::origin {

class HttpSession final : public Session {
 public:
  HttpSession(Worker& worker, util::UniqueFd fd, std::uint64_t number);

  Facts facts() const noexcept override { return {"http", number_, requests_}; }
  void describe(Json&) const override {}
  void invite_body() override;
  net::Task<util::Result<std::string_view>> read_body() override;
  const message::HeaderList& request_trailers() const noexcept override { return body_.trailers(); }
  void interim(int status, std::string_view fields) override;
  void begin(const message::ResponseHead& head) override;
  void write(std::string_view piece) override;
  net::Task<Done> send(std::string_view piece) override;
  net::Task<Done> flush() override { return send_out(); }
  void trailer(std::string_view name, std::string_view value) override { trailers_.add(name, value); }
  net::Task<util::Result<bool>> fault(std::string_view kind) override;
  void list_faults(Json& json) const override;

 private:
  net::Task<util::Result<bool>> next_request() override;
  net::Task<Done> finish() override;
  void refuse(wire::DecodeError error);
  void start_request();

  http1::RequestDecoder decoder_;
  http1::BodyDecoder body_;
  message::HeaderList trailers_;                         // of the answer
  message::BodyKind framing_ = message::BodyKind::none;  // of the answer
  bool silent_ = false;                                  // no body bytes may go out: HEAD, 204, 304
  bool invited_ = false;                                 // the client may send its body
};

}  // namespace pontage::origin
