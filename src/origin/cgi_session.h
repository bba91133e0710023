// CgiSession: what the origin's FastCGI, SCGI and uwsgi sessions have in common (ADAPTERS sections 2, 3 and 5): CGI
// variables in, the body behind them, a CGI response back. What differs is in the virtual functions, as it is on the
// gateway's side (upstream/cgi_connection). Worker's thread only.
#pragma once

#include <span>

#include "protocols/cgi/request_head.h"
#include "protocols/cgi/response_encoder.h"
#include "src/origin/session.h"

namespace pontage::origin {

struct CgiFault;

class CgiSession : public Session {
 public:
  void describe(Json& json) const override;
  void invite_body() override {}
  net::Task<util::Result<std::string_view>> read_body() override;
  const message::HeaderList& request_trailers() const noexcept override { return no_trailers_; }
  void interim(int, std::string_view) override {}
  void begin(const message::ResponseHead& head) override;
  void write(std::string_view piece) override;
  net::Task<Done> send(std::string_view piece) override;
  net::Task<Done> flush() override { return send_out(); }
  void trailer(std::string_view, std::string_view) override {}
  net::Task<util::Result<bool>> fault(std::string_view kind) override;
  void list_faults(Json& json) const override;

  // For faults: output as it is, in the protocol's wrapping, and what ends an answer where the protocol has such.
  void put(std::string_view output);
  virtual void put_end() {}

 protected:
  CgiSession(Worker& worker, util::UniqueFd fd, std::uint64_t number) : Session(worker, std::move(fd), number) {}

  virtual wire::Expected<cgi::RequestStep, wire::DecodeError> decode(std::string_view input) = 0;
  // Takes from the front of `piece` what can go out in one wrapping, whose beginning is put into out().
  virtual std::string_view wrap(std::string_view& piece) = 0;
  virtual cgi::StatusStyle status_style() const noexcept = 0;
  // Whether the request at hand wants the connection kept.
  virtual bool keeps() const noexcept = 0;
  // The faults that only this protocol knows.
  virtual std::span<const CgiFault> more_faults() const noexcept { return {}; }

  message::Arena no_arena_;                 // of an empty list
  cgi::VariableList variables_{no_arena_};  // of the request at hand

 private:
  net::Task<util::Result<bool>> next_request() override;
  net::Task<Done> finish() override;
  bool start_request();

  message::HeaderList no_trailers_;
  bool silent_ = false;     // no body bytes may go out: HEAD, 204, 304
  bool body_done_ = false;  // the request has been read to its end
  bool ended_ = false;      // a fault ended the answer in a way of its own
};

}  // namespace pontage::origin
