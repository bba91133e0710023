#include "src/frontend/http1_output.h"

#include <algorithm>
#include <array>

#include "protocols/http1/encoder.h"
#include "protocols/message/status.h"
#include "src/http/forwarding.h"

namespace pontage::frontend {

using http::BodyBatch;
using http::Piece;
using message::BodyKind;
using message::HeaderId;
using util::ErrorKind;
using util::Source;

namespace {

constexpr std::size_t kPullBudget = 256 * 1024;  // bytes
constexpr std::size_t kCopyLimit = 14 * 1024;    // memory up to here is copied behind the head
constexpr std::size_t kChunkOverhead = 32;       // size line, CRLF and last chunk

bool all_memory(const BodyBatch& batch) noexcept {
  for (const Piece& piece : batch.view()) {
    if (piece.file >= 0) return false;
  }
  return true;
}

}  // namespace

Delimit Http1Output::delimit(const http::Response& response) const noexcept {
  const BodyKind kind = response.head.body.kind;
  if (kind == BodyKind::none || kind == BodyKind::exact) return Delimit::length;
  return exchange_->request.version == message::kHttp10 ? Delimit::close : Delimit::chunks;
}

void Http1Output::encode_head(wire::Sink& sink, const http::Response& response, Delimit how, Connection keep) {
  const message::ResponseHead& head = response.head;
  http1::encode_status_line(sink, message::kHttp11, head.status);
  const net::TlsFacts* tls = exchange_->connection->tls.get();
  if (tls != nullptr && !tls->hsts.empty() && !head.headers.has(HeaderId::strict_transport_security)) {
    http1::encode_field(sink, "Strict-Transport-Security", tls->hsts);
  }
  if (!response.prepared.empty()) {
    sink.append(host_->date_lines());
    sink.append(response.prepared);
  } else {
    bool has_date = false;
    bool has_server = false;
    for (const auto& h : head.headers) {
      has_date = has_date || h.id == HeaderId::date;
      has_server = has_server || h.id == HeaderId::server;
    }
    const std::string_view lines = host_->date_lines();
    const std::size_t date_end = lines.find('\n') + 1;
    if (!has_date) sink.append(lines.substr(0, date_end));
    if (!has_server) sink.append(lines.substr(date_end));
    for (const auto& h : head.headers) http1::encode_field(sink, h.name, h.value);
    if (how == Delimit::chunks) {
      http1::encode_framing(sink, {BodyKind::chunked, 0});
    } else if (how == Delimit::length) {
      http1::encode_framing(sink, head.body);
    }
  }
  if (keep == Connection::close) {
    sink.append("Connection: close\r\n");
  } else if (exchange_->request.version == message::kHttp10) {
    sink.append("Connection: keep-alive\r\n");
  }
  http1::encode_end_of_head(sink);
}

net::Task<util::Result<Connection>> Http1Output::send(http::Response& response, Connection keep) {
  net::Chunk chunk = host_->reactor().chunks().take();
  if (!chunk) co_return util::fail(ErrorKind::overload, Source::gateway, "buffers");
  exchange_->outcome.status = response.head.status;
  body_sent_ = 0;
  const Delimit how = how_ = delimit(response);
  const bool head_only = exchange_->request.method == message::Method::head;
  BodyBatch batch;
  batch.last = http::Last::yes;
  if (response.body != nullptr) {
    // What is there at once goes out with the head; and a response that is complete while the request's body still
    // comes ends the connection, which the head should say.
    batch.clear();
    const auto pulled = co_await response.body->pull(batch, kPullBudget, http::Patience::none);
    if (!pulled) co_return util::Failure(pulled.error());
    if (head_only) batch.count = 0;
  }
  bool last = head_only || batch.last == http::Last::yes;
  const bool unread = exchange_->body != nullptr && !request_body_->done();
  if (how == Delimit::close || (last && unread)) keep = Connection::close;
  wire::Sink sink(chunk.span());
  encode_head(sink, response, how, keep);
  if (sink.overflowed()) {
    sink = wire::Sink(exchange_->arena.chars(http::kLargestHead));
    encode_head(sink, response, how, keep);
    if (sink.overflowed()) co_return util::fail(ErrorKind::limit, Source::server, "headers_too_long");
  }
  if (response.body == nullptr || head_only) {
    const auto sent = co_await send_batch(sink, batch, Delimit::length);
    if (!sent) co_return util::Failure(sent.error());
    co_return keep;
  }
  for (;;) {
    const auto fits = account(batch.bytes(), response.head.body, how, last);
    if (!fits) co_return util::Failure(fits.error());
    const auto sent = co_await send_batch(sink, batch, how);
    if (!sent) co_return util::Failure(sent.error());
    if (last) co_return keep;
    sink = wire::Sink(chunk.span());
    batch.clear();
    const auto pulled = co_await response.body->pull(batch, kPullBudget, http::Patience::wait);
    if (!pulled) co_return util::Failure(pulled.error());
    last = batch.last == http::Last::yes;
  }
}

// A body that disagrees with the length in the head must not reach the client as if it were whole (ADAPTERS X10).
util::Result<void> Http1Output::account(std::uint64_t bytes, const message::BodyFraming& framing, Delimit how,
                                        bool last) noexcept {
  body_sent_ += bytes;
  if (how != Delimit::length || framing.kind != BodyKind::exact) return {};
  if (body_sent_ > framing.length) return util::fail(ErrorKind::protocol, Source::server, "long_response");
  if (last && body_sent_ < framing.length) return util::fail(ErrorKind::closed, Source::server, "short_response");
  return {};
}

// Whatever is in `sink` (the head, or nothing) and the batch, in as few calls as possible. Nearly always one, which the
// socket takes whole: nothing is waited for then.
net::Task<util::Result<void>> Http1Output::send_batch(wire::Sink& sink, const BodyBatch& batch, Delimit how) {
  const std::uint64_t size = batch.bytes();
  const bool one_piece = how == Delimit::length && size <= kCopyLimit && size <= sink.room() && all_memory(batch);
  if (!one_piece || sink.size() + size == 0) return send_pieces(sink, batch, how);
  for (const Piece& piece : batch.view()) sink.append(piece.memory);
  started_ = true;
  iovec whole{const_cast<char*>(sink.view().data()), sink.size()};
  const auto put = stream_->try_write({&whole, 1}, net::More::no);
  if (put.status == net::IoStatus::done && put.bytes == whole.iov_len) {
    exchange_->outcome.bytes_out += whole.iov_len;
    return net::Task<util::Result<void>>::ready({});
  }
  if (put.status == net::IoStatus::error) {
    return net::Task<util::Result<void>>::ready(util::Failure(net::io_error(put, Source::client, "send")));
  }
  const std::size_t sent = put.status == net::IoStatus::done ? put.bytes : 0;
  exchange_->outcome.bytes_out += sent;
  return send_rest(sink.view().substr(sent));
}

net::Task<util::Result<void>> Http1Output::send_rest(std::string_view rest) {
  iovec piece{const_cast<char*>(rest.data()), rest.size()};
  const auto sent = co_await send_memory({&piece, 1}, net::More::no);
  co_return sent;
}

net::Task<util::Result<void>> Http1Output::send_pieces(wire::Sink& sink, const BodyBatch& batch, Delimit how) {
  const std::uint64_t bytes = batch.bytes();
  const bool last = batch.last == http::Last::yes;
  const bool chunked = how == Delimit::chunks;
  if (chunked && bytes > 0) http1::encode_chunk_start(sink, bytes);
  std::array<char, 16> short_tail;
  const bool trailers = chunked && last && batch.trailers != nullptr;
  wire::Sink tail(trailers ? exchange_->arena.chars(http::kLargestHead) : std::span<char>(short_tail));
  if (chunked && bytes > 0) tail.append("\r\n");
  if (chunked && last) http1::encode_last_chunk(tail, trailers ? *batch.trailers : message::HeaderList());
  if (sink.size() == 0 && bytes == 0 && tail.size() == 0) co_return util::Result<void>{};
  started_ = true;
  if (all_memory(batch)) {
    std::array<iovec, BodyBatch::kPieces + 2> pieces;
    std::size_t count = 0;
    if (bytes + tail.size() <= kCopyLimit && bytes + tail.size() <= sink.room()) {
      for (const Piece& piece : batch.view()) sink.append(piece.memory);
      sink.append(tail.view());
      pieces[count++] = {const_cast<char*>(sink.view().data()), sink.size()};
    } else {
      if (sink.size() > 0) pieces[count++] = {const_cast<char*>(sink.view().data()), sink.size()};
      for (const Piece& piece : batch.view())
        pieces[count++] = {const_cast<char*>(piece.memory.data()), piece.memory.size()};
      if (tail.size() > 0) pieces[count++] = {const_cast<char*>(tail.view().data()), tail.size()};
    }
    const auto sent = co_await send_memory(std::span(pieces.data(), count), net::More::no);
    co_return sent;
  }
  iovec head{const_cast<char*>(sink.view().data()), sink.size()};
  if (sink.size() > 0) {
    const auto sent = co_await send_memory({&head, 1}, net::More::follows);
    if (!sent) co_return util::Failure(sent.error());
  }
  for (const Piece& piece : batch.view()) {
    iovec memory{const_cast<char*>(piece.memory.data()), piece.memory.size()};
    util::Result<void> sent;
    if (piece.file >= 0) {
      sent = co_await send_file(piece);
    } else {
      sent = co_await send_memory({&memory, 1}, net::More::no);
    }
    if (!sent) co_return util::Failure(sent.error());
  }
  if (tail.size() == 0) co_return util::Result<void>{};
  iovec end{const_cast<char*>(tail.view().data()), tail.size()};
  const auto sent = co_await send_memory({&end, 1}, net::More::no);
  co_return sent;
}

net::Task<util::Result<void>> Http1Output::send_memory(std::span<iovec> pieces, net::More more) {
  std::uint64_t total = 0;
  for (const auto& piece : pieces) total += piece.iov_len;
  const auto put = stream_->try_write(pieces, more);
  if (put.status == net::IoStatus::done && put.bytes == total) {
    exchange_->outcome.bytes_out += total;
    co_return util::Result<void>{};
  }
  if (put.status == net::IoStatus::error) co_return util::Failure(net::io_error(put, Source::client, "send"));
  std::size_t skip = put.bytes;
  while (skip > 0 && skip >= pieces.front().iov_len) {
    skip -= pieces.front().iov_len;
    pieces = pieces.subspan(1);
  }
  pieces.front().iov_base = static_cast<char*>(pieces.front().iov_base) + skip;
  pieces.front().iov_len -= skip;
  const auto rest = co_await net::write_all(*stream_, pieces, more, idle_ms_, observe::Phase::client, Source::client);
  if (rest) exchange_->outcome.bytes_out += total;
  co_return rest;
}

net::Task<util::Result<void>> Http1Output::send_file(const Piece& piece) {
  std::uint64_t offset = piece.offset;
  std::uint64_t left = piece.count;
  while (left > 0) {
    const std::size_t ask = static_cast<std::size_t>(std::min<std::uint64_t>(left, 512 * 1024));
    const auto put = stream_->try_send_file(piece.file, offset, ask);
    if (put.status == net::IoStatus::error) co_return util::Failure(net::io_error(put, Source::client, "send"));
    if (put.status != net::IoStatus::done) {
      const auto waited = co_await stream_->writable(host_->reactor().after(idle_ms_), observe::Phase::client);
      if (waited != net::WaitResult::ready) co_return util::Failure(net::wait_error(waited, Source::client, "send"));
      continue;
    }
    if (put.bytes == 0) co_return util::fail(ErrorKind::closed, Source::gateway, "file was truncated");
    offset += put.bytes;
    left -= put.bytes;
    exchange_->outcome.bytes_out += put.bytes;
  }
  co_return util::Result<void>{};
}

}  // namespace pontage::frontend
