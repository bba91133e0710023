// AjpSession: AJP/1.3 as a container speaks it: CPING, FORWARD_REQUEST, bodies asked for packet by packet (ADAPTERS
// A1-A28), on the codecs of protocols/ajp13. Worker's thread only.
#pragma once

#include "protocols/ajp13/request_decoder.h"
#include "src/origin/options.h"
#include "src/origin/session.h"

namespace pontage::origin {

class AjpSession final : public Session {
 public:
  // `options` outlives the session.
  AjpSession(Worker& worker, util::UniqueFd fd, std::uint64_t number, const OriginOptions& options);

  Facts facts() const noexcept override { return {"ajp", number_, requests_}; }
  void describe(Json& json) const override;
  void invite_body() override {}
  net::Task<util::Result<std::string_view>> read_body() override;
  const message::HeaderList& request_trailers() const noexcept override { return no_trailers_; }
  void interim(int, std::string_view) override {}
  void begin(const message::ResponseHead& head) override;
  void write(std::string_view piece) override;
  net::Task<Done> send(std::string_view piece) override;
  net::Task<Done> flush() override;
  void trailer(std::string_view, std::string_view) override {}
  net::Task<util::Result<bool>> fault(std::string_view kind) override;
  void list_faults(Json& json) const override;

  std::size_t packet_size() const noexcept { return packet_size_; }
  // Asks for one more body packet, whether there can be one or not; for faults, who read it with take_packet().
  void ask_body();
  net::Task<Done> take_packet();

 private:
  net::Task<util::Result<bool>> next_request() override;
  net::Task<Done> finish() override;
  bool has_secret() const noexcept;
  void start_request();
  void refuse_secret();

  const OriginOptions* options_;
  std::size_t packet_size_;
  ajp13::RequestDecoder decoder_;
  ajp13::Attributes attributes_;
  message::HeaderList no_trailers_;
  ajp13::Reuse reuse_ = ajp13::Reuse::yes;
  bool begun_ = false;      // SEND_HEADERS is written
  bool silent_ = false;     // no body bytes may go out: HEAD, 204, 304
  bool body_done_ = false;  // the gateway has nothing more
  bool ended_ = false;      // no END_RESPONSE is due: a fault ended the answer, or no packet can hold its head
};

}  // namespace pontage::origin
