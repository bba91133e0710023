// What the FastCGI, SCGI, uwsgi and CGI adapters have in common: variables out, the body behind them, a CGI response
// back (ADAPTERS sections 2 to 5). The request body is sent by a fiber of its own while the response is read already.
// Small pieces of a response that follow each other within a few milliseconds are gathered into one send. What differs,
// the wrapping of the bytes either way, is in the virtual functions. One exchange at a time; worker's thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "protocols/cgi/response_decoder.h"
#include "protocols/cgi/variables.h"
#include "protocols/wire/sink.h"
#include "src/http/body_source.h"
#include "src/upstream/connection.h"
#include "src/upstream/server.h"

namespace pontage::upstream {

class CgiConnection : public BackendConnection, private http::BodySource {
 public:
  net::Task<util::Result<http::Response>> round_trip(http::Exchange& exchange) override;

 protected:
  CgiConnection(std::shared_ptr<BackendServer> server, std::unique_ptr<net::ByteStream> stream);

  // What the next bytes from the server are.
  struct Unwrapped {
    std::size_t consumed = 0;
    std::string_view output{};  // of the CGI response; a view of the input
    bool ended = false;         // the protocol says that the response is whole
  };

  // For the next exchange.
  virtual void begin() {}
  // The request up to its body. `room` bytes are enough for it. Errors: limit (431).
  virtual std::size_t request_room(const cgi::VariableList& variables) const = 0;
  virtual util::Result<void> encode_request(wire::Sink& sink, const cgi::VariableList& variables) = 0;
  // The whole request is with the server.
  virtual void note_sent() noexcept {}
  // What stands before a piece of `bytes` of the body (a view that lasts until the next call), and behind the body.
  virtual std::string_view body_header(std::size_t bytes) = 0;
  virtual std::string_view body_end() const = 0;
  // Consumes everything when it returns neither output nor an end.
  virtual util::Result<Unwrapped> unwrap(std::string_view input) = 0;
  // Whether the end of the stream, here, is an end of the response.
  virtual bool ends_with_stream() const noexcept = 0;
  // What the end of the stream is to a response that nothing else ends. `unknown`: ask again; not with Patience::wait.
  enum class StreamEnd : std::uint8_t { whole, cut, unknown };
  virtual net::Task<StreamEnd> judge_end(net::Deadline /*gather_until*/, http::Patience /*patience*/) {
    return net::Task<StreamEnd>::ready(StreamEnd::whole);
  }
  // Whether the protocol has an end of its own, which is waited for even when the body is complete before it.
  virtual bool says_end() const noexcept = 0;
  // Whether the connection is open for another request after that end.
  virtual bool keeps_open() const noexcept = 0;
  // The server closed without an answer: a last word for the log.
  virtual void note_no_answer(std::size_t /*request_bytes*/) const noexcept {}
  // The exchange is given up before the response has ended.
  virtual void abandon() noexcept {}
  // Nothing more is read of this exchange.
  virtual void note_end() noexcept {}

  const ServerSettings& settings() const noexcept { return *settings_; }
  // Whether the whole request is with the server.
  bool request_sent() const noexcept { return request_sent_; }
  // Bytes of this response, wrapping included.
  std::uint64_t received() const noexcept { return received_; }
  // Whether the whole response is here.
  bool whole() const noexcept { return answered_ && (ended_ || body_complete()); }

 private:
  net::Task<util::Result<void>> pull(http::BodyBatch& batch, std::size_t budget, http::Patience patience) override;
  void drop() noexcept override;

  util::Result<std::span<const char>> encode(http::Exchange& exchange);
  net::Task<util::Result<void>> send_alone(std::span<const char> head);
  net::Task<void> pump_body(std::span<const char> head);
  net::Task<util::Result<void>> send_body(std::span<const char> head);
  // One more read behind the `keep` bytes that are still looked at. False: the stream ended. With Patience::wait the
  // deadline is put off while the request body is being sent, which has deadlines of its own.
  net::Task<util::Result<bool>> fill(std::size_t keep, net::Deadline deadline, http::Patience patience);
  // Makes `rest_` the next output when there is some among what was read.
  util::Result<void> unwrap_ready();
  net::Task<util::Result<void>> read_head(message::ResponseHead& head);
  util::Result<void> take_ready(http::BodyBatch& batch, std::size_t budget);
  util::Result<void> end_of_stream(const util::Result<bool>& more);
  util::Failure no_answer(const util::Result<bool>& more);
  bool length_met() const noexcept;
  bool body_complete() const noexcept;
  bool nothing_follows() const noexcept;

  std::shared_ptr<const ServerSettings> settings_;
  cgi::ResponseDecoder head_decoder_;
  http::Exchange* exchange_ = nullptr;
  net::Chunk out_;  // the encoded request
  net::Chunk in_;   // read and not unwrapped yet: in_[at_, end_)
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::string_view rest_;         // output not handed on yet; a view of in_
  std::uint64_t received_ = 0;    // bytes of this response, wrapping included
  std::uint64_t content_ = 0;     // bytes of its body
  std::uint64_t discarded_ = 0;   // of a body that nobody gets
  std::uint64_t turn_ = 0;        // bytes since others had their turn
  net::Deadline head_until_ = 0;  // for the head, put off while the request is being sent; 0: none is due
  net::Deadline last_words_until_ = net::kNoDeadline;
  std::size_t request_bytes_ = 0;
  message::BodyFraming framing_;
  bool request_sent_ = false;
  bool answered_ = false;  // the head is here
  bool ended_ = false;     // the response came to its end
  bool damaged_ = false;   // the connection cannot be used again
};

}  // namespace pontage::upstream
