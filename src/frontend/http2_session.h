// Http2Session: one HTTP/2 client connection. Its fiber reads, lets the codec (protocols/http2) take frames apart, and
// sends what the codec makes; each request runs on a fiber of its own (Http2Stream), which asks for its turn by
// resume() and the like. Bytes of request bodies count against the connection's window only while less than a cap is
// held for all streams, so that a stream nobody reads holds up neither the others nor the memory. Worker's thread;
// destroyed through its host when connection and streams have ended.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "protocols/http2/server.h"
#include "src/frontend/http2_output.h"
#include "src/frontend/http2_stream.h"
#include "src/frontend/session_host.h"

namespace pontage::frontend {

class Http2Session final : public Session, private http2::ServerEvents {
 public:
  Http2Session(SessionHost& host, std::unique_ptr<net::ByteStream> stream, http::ConnectionInfo connection,
               SessionRules rules, std::string_view received);
  ~Http2Session() override;

  // Runs until the connection ends.
  void start() override;

  void drain() noexcept override;
  void cancel() noexcept override;
  void cancel_older_than(std::uint64_t oldest) noexcept override;
  void on_new_site() noexcept override;
  const http::ConnectionInfo& connection() const noexcept override { return connection_; }

  // For its streams, never from inside the codec.
  SessionHost& host() const noexcept { return *host_; }
  bool respond(Http2Stream& stream, const message::ResponseHead& head, http2::BodyFollows follows);
  void respond_interim(Http2Stream& stream, const message::ResponseHead& head);
  void resume(Http2Stream& stream) noexcept;
  void reset(Http2Stream& stream, http2::ErrorCode code) noexcept;
  // Bytes of the stream's body are used.
  void credit(Http2Stream& stream, std::size_t bytes) noexcept;
  // Whether the client would take more of the stream and the connection moves: others have their turn.
  bool waits_for_turn(const Http2Stream& stream, std::uint64_t patience_ms) const noexcept;
  void stream_done(Http2Stream& stream) noexcept;

 private:
  enum class Step : std::uint8_t { rest, again, end };  // nothing to do now; more may be; the connection has ended

  net::Task<void> run();
  net::Task<net::WaitResult> wait();
  net::Task<void> linger();
  Step take_input();
  void receive(std::string_view input);
  void start_streams();
  Step give_output();
  void send_due_trailers();
  void note_broken(Http2Stream& stream) noexcept;
  void end_broken() noexcept;
  void settle_end();
  net::Deadline deadline() const noexcept;
  bool on_deadline() noexcept;
  void note_fault() noexcept;
  void begin_drain() noexcept;
  void wake() noexcept;
  void end_streams() noexcept;
  void dispose(Http2Stream& stream) noexcept;
  static void on_done(void* self) noexcept;

  // What the codec tells and asks (http2_events.cc).
  Opened open() noexcept override;
  void on_head(http2::Stream& stream, wire::Expected<void, wire::DecodeError> result,
               http2::BodyFollows follows) noexcept override;
  void on_data(http2::Stream& stream, std::string_view data) noexcept override;
  void on_end(http2::Stream& stream) noexcept override;
  void on_closed(http2::Stream& stream, http2::ErrorCode code) noexcept override;
  void on_pong() noexcept override { pong_ = true; }
  http2::Ready ready(http2::Stream& stream, std::size_t most) noexcept override;
  Put put(std::string_view frame) noexcept override;
  Put put_data(std::string_view header, http2::Stream& stream, std::size_t bytes) noexcept override;
  void on_sent(http2::Stream& stream, std::size_t bytes, http2::BodyFollows follows) noexcept override;
  void on_unsendable(http2::Stream& stream) noexcept override;

  enum class Drain : std::uint8_t { no, announced, last };  // GOAWAY: none, of the highest number, of the last served

  SessionHost* host_;
  std::unique_ptr<net::ByteStream> stream_;
  http::ConnectionInfo connection_;
  SessionRules rules_;
  http2::ServerLimits limits_;
  net::Fiber fiber_;
  http2::Server server_;
  Http2Output output_;
  std::string_view received_;                          // handed over, to be taken first
  std::vector<std::unique_ptr<Http2Stream>> streams_;  // all that are not in the spares
  std::vector<Http2Stream*> begun_;                    // their heads are here: to be started
  std::vector<Http2Stream*> trailing_;                 // their trailers are due
  std::vector<Http2Stream*> broken_;                   // to be reset for want of memory
  std::size_t held_ = 0;                               // bytes of request bodies that wait in streams
  std::size_t owed_ = 0;                               // bytes the connection's window is short of
  std::size_t spent_ = 0;                              // bytes of bodies that nobody wants, to be credited
  net::Deadline idle_until_ = net::kNoDeadline;        // while no stream is open
  net::Deadline head_until_ = net::kNoDeadline;        // while a header block is incomplete
  net::Deadline drain_until_ = net::kNoDeadline;       // for the answer to our PING
  std::uint64_t moved_ms_ = 0;                         // when bytes went out last
  Drain drain_ = Drain::no;
  bool served_ = false;
  bool dirty_ = false;  // a stream has something for us
  bool pong_ = false;
  bool blocked_ = false;      // by the socket
  bool half_closed_ = false;  // the client sends no more and still reads
  bool dead_ = false;         // the connection is gone; streams may still unwind
  bool fault_told_ = false;
};

}  // namespace pontage::frontend
