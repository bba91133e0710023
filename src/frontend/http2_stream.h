// One request and its answer on an HTTP/2 connection: an exchange on a fiber of its own. It asks the desk as every
// session does, then feeds the connection: it pulls the response's body batch by batch, each when the one before is
// taken. Owned by its session, reused for other requests through the host's spares; worker's thread.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "protocols/http2/server.h"
#include "src/frontend/exchange_desk.h"
#include "src/frontend/file_window.h"
#include "src/frontend/http2_body.h"
#include "src/frontend/signal.h"
#include "src/util/intrusive_list.h"

namespace pontage::frontend {

class Http2Session;
class Http2Output;

class Http2Stream final : public http2::Stream,
                          public util::ListHook,
                          private http::InterimSink,
                          private Http2BodyOwner {
 public:
  explicit Http2Stream(net::Reactor& reactor) noexcept : fiber_(reactor), exchange_(reactor) {}

  // A new request begins to come in.
  http2::ServerEvents::Opened open(Http2Session& session);
  // Its head is complete; start() runs it.
  void set_head(wire::Expected<void, wire::DecodeError> result, http2::BodyFollows follows) noexcept;
  void start();

  // From the codec, between its calls.
  std::size_t append(std::string_view data) noexcept;
  void end_request() noexcept;
  // Bytes that came after the answer.
  void ignore(std::size_t bytes) noexcept;
  void close(http2::ErrorCode code) noexcept;
  http2::Ready ready(std::size_t most) noexcept;
  http2::ServerEvents::Put put(std::string_view frame_header, std::size_t bytes, Http2Output& output);
  void note_sent(std::size_t bytes, http2::BodyFollows follows) noexcept;
  void cancel() noexcept { fiber_.cancel(); }

  // Coming in; to be started; on its way; answered while its request still comes in; done.
  enum class State : std::uint8_t { opened, queued, running, answered, over };
  State state() const noexcept { return state_; }
  bool closed() const noexcept { return closed_; }
  // All but the trailers was given to the connection.
  bool body_ended() const noexcept { return body_ended_ && !ended_; }
  // Nothing refers to it any more.
  bool disposable() const noexcept { return closed_ && state_ != State::running && state_ != State::answered; }
  std::uint64_t generation() const noexcept { return routed_.site ? routed_.site->generation : 0; }
  http::Exchange& exchange() noexcept { return exchange_; }
  // The trailers that are to be sent now, once; nullptr otherwise.
  const message::HeaderList* take_trailers() noexcept;
  // Before it goes to the spares.
  void release() noexcept;

 private:
  static constexpr std::size_t kMostIgnored = 64 * 1024;  // of a request whose answer is out

  net::Task<void> run();
  net::Task<void> serve();
  net::Task<void> answer(http::Response response);
  net::Task<util::Result<void>> send(http::Response& response);
  net::Task<util::Result<void>> send_batch(const http::BodyBatch& batch);
  net::Task<util::Result<void>> send_file(const http::Piece& piece, http::Last last);
  net::Task<util::Result<void>> offer(http::Last last);
  net::Task<util::Result<void>> wait_until_taken();
  net::Task<void> await_request_end();
  util::Result<void> account(std::uint64_t bytes, const message::BodyFraming& framing, bool last) noexcept;
  util::Result<void> respond_head(const http::Response& response, http2::BodyFollows follows);
  net::Task<util::Result<void>> send_interim(const message::ResponseHead& head) override;
  void on_body_used(std::size_t bytes) noexcept override;
  void on_body_wanted() noexcept override;
  void reset(http2::ErrorCode code) noexcept;
  bool ignores_too_much() const noexcept { return ignored_ >= kMostIgnored; }
  static void on_done(void* self) noexcept;

  net::Fiber fiber_;
  http::Exchange exchange_;
  Http2Body body_;
  FileWindow file_;
  Routed routed_;
  Http2Session* session_ = nullptr;
  std::optional<wire::DecodeError> refused_;

  // What is offered to the connection.
  std::array<std::string_view, http::BodyBatch::kPieces> offered_;
  std::size_t offered_first_ = 0;
  std::size_t offered_count_ = 0;
  std::uint64_t offered_bytes_ = 0;
  bool offered_last_ = false;
  bool more_at_hand_ = false;  // behind what is offered, without waiting
  const message::HeaderList* trailers_ = nullptr;
  Signal taken_;

  std::uint64_t body_sent_ = 0;
  std::size_t ignored_ = 0;
  State state_ = State::opened;
  bool closed_ = false;         // the codec knows it no more
  bool request_ended_ = false;  // END_STREAM came
  bool started_ = false;        // the final head is out
  bool body_ended_ = false;     // all but the trailers is out, or about to be
  bool ended_ = false;          // END_STREAM is out
  bool reset_ = false;          // by us
  bool continue_due_ = false;
};

}  // namespace pontage::frontend
