// The server's end of one HTTP/2 connection, without I/O: bytes in, events out, and frames to send when asked. A thin
// shell around nghttp2, which keeps the frame and stream states, HPACK and the schedule of RFC 9218 (urgency, then
// incremental); what it adds are the project's field rules (RequestIntake), watching for floods (FrameWatch), bounded
// memory, and an interface without its types. Events are a visitor and not values, because DATA and the schedule need
// answers while frames are made: how much a stream has, and where its bytes go. Nothing here throws; an event must not.
// No event may call back but for the const functions; all else is called between receive() and send(). One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "protocols/http2/fault.h"
#include "protocols/http2/frame_watch.h"
#include "protocols/http2/limits.h"
#include "protocols/http2/memory.h"
#include "protocols/http2/request_intake.h"

struct nghttp2_session;

namespace pontage::http2 {

// RFC 9113 7; those that we send or look at.
enum class ErrorCode : std::uint32_t {
  no_error = 0x0,
  protocol_error = 0x1,
  internal_error = 0x2,
  stream_closed = 0x5,
  refused_stream = 0x7,
  cancel = 0x8,
  enhance_your_calm = 0xb,
};

// A request's stream as the codec knows it; whoever serves it derives from this.
class Stream {
 public:
  std::int32_t id() const noexcept { return id_; }

 protected:
  Stream() = default;
  ~Stream() = default;

 private:
  friend class Server;
  std::int32_t id_ = 0;
  RequestIntake intake_;
};

// What a stream has to send now.
struct Ready {
  enum class End : std::uint8_t { no, body, before_trailers } end = End::no;
  std::size_t bytes = 0;
};

class ServerEvents {
 public:
  // A request begins. The arena that its head shall live in, and its stream; nullptr refuses it (REFUSED_STREAM).
  struct Opened {
    Stream* stream = nullptr;
    message::Arena* arena = nullptr;
    message::RequestHead* head = nullptr;
  };
  virtual Opened open() noexcept = 0;
  // Its head is complete, or refused.
  virtual void on_head(Stream& stream, wire::Expected<void, wire::DecodeError> result,
                       BodyFollows follows) noexcept = 0;
  // Bytes of its body, views of the input. They count against the stream's window until consumed() says so.
  virtual void on_data(Stream& stream, std::string_view data) noexcept = 0;
  virtual void on_end(Stream& stream) noexcept = 0;
  // The stream is no more; nothing about it follows.
  virtual void on_closed(Stream& stream, ErrorCode code) noexcept = 0;
  // The client has answered our PING (see ping()).
  virtual void on_pong() noexcept = 0;

  // Sending. What the stream has for a DATA frame of at most `most` bytes: nothing defers it until resume().
  virtual Ready ready(Stream& stream, std::size_t most) noexcept = 0;
  // Takes a whole frame, or refuses it for want of room: it comes again with the next send(). `frame` is valid during
  // the call, the second form is followed by `bytes` of what the stream has; `gone` when it has them no longer, which
  // resets the stream.
  enum class Put : std::uint8_t { taken, full, gone };
  virtual Put put(std::string_view frame) noexcept = 0;
  virtual Put put_data(std::string_view header, Stream& stream, std::size_t bytes) noexcept = 0;
  // A head, trailers or DATA of `bytes` with its frame header went into put(); `last` says whether with END_STREAM.
  virtual void on_sent(Stream& stream, std::size_t bytes, BodyFollows follows) noexcept = 0;
  // Its head or trailers could not be sent.
  virtual void on_unsendable(Stream& stream) noexcept = 0;

 protected:
  ~ServerEvents() = default;
};

class Server {
 public:
  Server(ServerEvents& events, const ServerLimits& limits) noexcept;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Whether there was memory for it; without, nothing else may be called.
  bool good() const noexcept { return session_ != nullptr; }

  // Takes in what came from the client, preface first. After a fault a GOAWAY is ready to be sent and further input is
  // to be thrown away.
  Fault receive(std::span<const char> input, std::uint64_t now_ms) noexcept;
  Fault fault() const noexcept { return fault_; }

  enum class Sending : std::uint8_t { all, full, failed };
  // Gives everything that is ready to put() and put_data(). full: one of them refused. failed: fault() is set.
  Sending send() noexcept;
  bool wants_send() const noexcept;
  // Frames that wait to be sent beside bodies.
  std::size_t queued() const noexcept;
  // Nothing more will come of this connection: GOAWAY is out and no stream open.
  bool over() const noexcept;
  bool in_header_block() const noexcept { return watch_.in_header_block(); }

  // Sent unless the head has them; valid as long as the server.
  struct OwnFields {
    std::string_view date, server;
    std::string_view hsts{};  // Strict-Transport-Security; empty: none
  };
  // Sends a response's head; the texts of `head` must stay valid until on_sent() or on_closed(). With a body, ready()
  // is asked for it. False when there is no memory (also of the arena).
  bool respond(Stream& stream, const message::ResponseHead& head, const OwnFields& own, BodyFollows follows,
               message::Arena& arena) noexcept;
  // An interim (1xx) head.
  bool respond_interim(Stream& stream, const message::ResponseHead& head, message::Arena& arena) noexcept;
  // After Ready::End::before_trailers was sent.
  bool send_trailers(Stream& stream, const message::HeaderList& trailers, message::Arena& arena) noexcept;
  // ready() has something again.
  void resume(Stream& stream) noexcept;
  void reset(Stream& stream, ErrorCode code) noexcept;
  // Bytes of body that the client would take of this stream now.
  std::size_t window(const Stream& stream) const noexcept;
  // Bytes of on_data() were used, for the stream's window and for the connection's.
  void consumed_stream(Stream& stream, std::size_t bytes) noexcept;
  void consumed_connection(std::size_t bytes) noexcept;

  // The first step of an orderly end: "begin nothing more here". The second is go_away().
  void announce_end() noexcept;
  void ping() noexcept;
  // Requests that came after this are not served; those before go on.
  void go_away(ErrorCode code) noexcept;
  // The end of everything on this connection.
  void terminate(ErrorCode code) noexcept;

 private:
  struct Callbacks;  // what the library calls
  struct Block;      // an array of the library's name-value pairs
  void set_fault(Fault fault) noexcept;
  bool make_session() noexcept;

  ServerEvents* events_;
  ServerLimits limits_;
  MemoryAccount memory_;
  FrameWatch watch_;
  nghttp2_session* session_ = nullptr;
  std::string_view held_;  // a frame that put() refused
  std::uint64_t now_ms_ = 0;
  Fault fault_ = Fault::none;
  Fault pending_ = Fault::none;           // found inside a callback
  message::RequestHead* head_ = nullptr;  // of the block that is being decoded
};

}  // namespace pontage::http2
