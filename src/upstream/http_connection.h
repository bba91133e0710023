// The http adapter: HTTP/1.1 towards a server (RFC 9112; ADAPTERS X1-X20). One connection, one exchange at a time.
// While a request body is still coming, the exchange's pump sends it beside the response being read, so early answers
// (413, 401) and two-way streams work.
#pragma once

#include <cstdint>

#include "protocols/http1/decoder.h"
#include "src/http/body_source.h"
#include "src/upstream/connection.h"
#include "src/upstream/server.h"

namespace pontage::upstream {

class HttpConnection final : public BackendConnection, private http::BodySource {
 public:
  HttpConnection(std::shared_ptr<BackendServer> server, std::unique_ptr<net::ByteStream> stream);

  net::Task<util::Result<http::Response>> round_trip(http::Exchange& exchange) override;

 private:
  net::Task<util::Result<void>> pull(http::BodyBatch& batch, std::size_t budget, http::Patience patience) override;
  void drop() noexcept override;

  net::Task<util::Result<void>> send_request(http::Exchange& exchange);
  net::Task<util::Result<void>> send_head(http::Exchange& exchange);
  net::Task<void> pump_body(http::Exchange& exchange);
  net::Task<util::Result<void>> send_body(http::Exchange& exchange);
  net::Task<util::Result<void>> read_final_head(http::Exchange& exchange, message::ResponseHead& head);
  // Reads more into in_; false at the end of the stream.
  net::Task<util::Result<bool>> fill(net::Deadline deadline);
  util::Error no_response(const http::Exchange& exchange, util::ErrorKind kind, int os_error) const noexcept;
  util::Result<void> decode_ready(http::BodyBatch& batch, std::size_t budget);
  Reuse reusable() const noexcept;
  void hint_at(wire::DecodeError error) const noexcept;
  void hint_at_keep_alive(const message::ResponseHead& head) const noexcept;

  std::shared_ptr<const ServerSettings> settings_;
  http1::ResponseDecoder head_decoder_;
  http1::BodyDecoder body_decoder_;
  message::HeaderList trailers_;
  http::Exchange* exchange_ = nullptr;
  net::Chunk in_;   // what was read and not decoded yet: in_[at_, end_)
  net::Chunk out_;  // the encoded request head while the pump may still send it
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::uint64_t received_ = 0;    // bytes of this response
  net::Deadline head_until_ = 0;  // for the head, put off while the request is being sent; 0: none is due
  message::Persistence persistence_ = message::Persistence::keep_alive;
  bool request_sent_ = false;  // whole, body included
  bool damaged_ = false;       // anything irregular: never reuse (ADAPTERS X20)
};

}  // namespace pontage::upstream
