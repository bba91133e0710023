// Sends one HTTP/1 response: head and body leave together. Up to about 12 KB they are copied into one chunk and sent by
// one call, cheaper than gathering; larger memory is gathered, file ranges go by sendfile behind a head sent with
// MSG_MORE (PERF.md 0). Worker's thread.
#pragma once

#include <cstdint>

#include "protocols/wire/sink.h"
#include "src/frontend/http1_body.h"
#include "src/frontend/session_host.h"
#include "src/http/response.h"
#include "src/net/stream.h"

namespace pontage::frontend {

enum class Delimit : std::uint8_t { length, chunks, close };  // how the body's end is told
enum class Connection : std::uint8_t { keep, close };

class Http1Output {
 public:
  Http1Output(net::ByteStream& stream, SessionHost& host, http::Exchange& exchange, const Http1Body& request_body,
              std::uint64_t idle_ms) noexcept
      : stream_(&stream), host_(&host), exchange_(&exchange), request_body_(&request_body), idle_ms_(idle_ms) {}

  // Sends head and body to the end. `keep` says what the Connection field shall tell; the result says whether the
  // connection can go on: a body without a length towards HTTP/1.0 ends with it. An error after the head was sent
  // leaves the message visibly incomplete.
  net::Task<util::Result<Connection>> send(http::Response& response, Connection keep);
  // Whether anything of the final response is out already.
  bool started() const noexcept { return started_; }
  // Only the end of the connection tells the client that the body is complete.
  bool ends_by_close() const noexcept { return how_ == Delimit::close; }

 private:
  Delimit delimit(const http::Response& response) const noexcept;
  void encode_head(wire::Sink& sink, const http::Response& response, Delimit how, Connection keep);
  net::Task<util::Result<void>> send_batch(wire::Sink& sink, const http::BodyBatch& batch, Delimit how);
  net::Task<util::Result<void>> send_pieces(wire::Sink& sink, const http::BodyBatch& batch, Delimit how);
  net::Task<util::Result<void>> send_rest(std::string_view rest);
  net::Task<util::Result<void>> send_file(const http::Piece& piece);
  net::Task<util::Result<void>> send_memory(std::span<iovec> pieces, net::More more);
  util::Result<void> account(std::uint64_t bytes, const message::BodyFraming& framing, Delimit how, bool last) noexcept;

  net::ByteStream* stream_;
  SessionHost* host_;
  http::Exchange* exchange_;
  const Http1Body* request_body_;
  std::uint64_t idle_ms_;
  std::uint64_t body_sent_ = 0;
  Delimit how_ = Delimit::length;
  bool started_ = false;
};

}  // namespace pontage::frontend
