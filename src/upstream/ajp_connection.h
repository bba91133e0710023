// The ajp adapter: AJP/1.3 towards a servlet container (ADAPTERS section 1). The container asks for the request body
// piece by piece, so one coroutine serves both directions. Tomcat sends head, body and end in packets of their own:
// what follows within a few milliseconds is gathered, so that a small answer leaves in one send (PERF.md 7). One
// connection, one exchange at a time; worker's thread.
#pragma once

#include <cstdint>

#include "protocols/ajp13/response_decoder.h"
#include "src/http/body_source.h"
#include "src/upstream/answer_mark.h"
#include "src/upstream/connection.h"
#include "src/upstream/server.h"

namespace pontage::upstream {

class AjpConnection final : public BackendConnection, private http::BodySource {
 public:
  AjpConnection(std::shared_ptr<BackendServer> server, std::unique_ptr<net::ByteStream> stream);

  net::Task<util::Result<http::Response>> round_trip(http::Exchange& exchange) override;
  // CPING, answered by CPONG within timeouts.cping.
  net::Task<bool> probe() override;

 private:
  net::Task<util::Result<void>> pull(http::BodyBatch& batch, std::size_t budget, http::Patience patience) override;
  void drop() noexcept override;

  net::Task<util::Result<void>> send_request(http::Exchange& exchange);
  // Sends up to `most` bytes of request body, or the end of it. What waits in `head` goes before.
  net::Task<util::Result<void>> send_body_packet(std::span<const char> head, std::size_t most, http::Patience patience);
  net::Task<util::Result<void>> read_head(message::ResponseHead& head);
  net::Task<util::Result<bool>> fill(std::size_t keep, net::Deadline deadline);
  // Waits for bytes, and until the mark is met while one is set.
  net::Task<net::WaitResult> wait_readable(net::Deadline deadline);
  void set_mark(const http::Exchange& exchange) noexcept;
  void lift_mark() noexcept;
  util::Result<ajp13::ResponseStep> decode(message::ResponseHead& head);
  util::Result<bool> decode_ready(http::BodyBatch& batch, std::size_t budget);
  void log_decode_error(wire::DecodeError error) const noexcept;
  void hint_at_no_cpong(std::string_view answer, const util::Result<std::size_t>& got) const noexcept;
  void hint_at_refusal() const noexcept;

  std::shared_ptr<const ServerSettings> settings_;
  AnswerMark answer_mark_;
  std::uint64_t sent_ms_ = 0;
  std::size_t mark_ = 0;  // bytes that the stream waits for at present; 0: for any
  net::Deadline mark_until_ = 0;
  bool usual_ = false;  // the answer's size says something about the next one's
  ajp13::ResponseDecoder decoder_;
  http::Exchange* exchange_ = nullptr;
  net::Chunk in_;  // read and not decoded yet: in_[at_, end_)
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::uint64_t received_ = 0;  // bytes of this response's packets
  std::uint64_t content_ = 0;   // bytes of its body
  message::BodyFraming framing_;
  message::ResponseHead ignored_;    // where the decoder puts a second head, which it refuses
  std::size_t asked_ = 0;            // a GET_BODY_CHUNK not answered yet
  int status_ = 0;                   // of the answer
  std::uint32_t empty_answers_ = 0;  // ADAPTERS A16: a container may ask a few times too often
  bool body_sent_ = false;           // the request body was sent to its end
  bool body_ended_ = false;          // the response came to its END_RESPONSE
  bool keep_ = false;                // the container lets the connection be used again
  bool damaged_ = false;
};

}  // namespace pontage::upstream
