#include "protocols/http2/server_callbacks.h"

#include <new>

namespace pontage::http2 {
namespace {

constexpr std::size_t kFrameHeader = 9;

std::string_view text(const std::uint8_t* data, std::size_t size) noexcept {
  return {reinterpret_cast<const char*>(data), size};
}

BodyFollows follows(const nghttp2_frame& frame) noexcept {
  return (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 ? BodyFollows::no : BodyFollows::yes;
}

}  // namespace

int Server::Callbacks::on_begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void* user) noexcept {
  if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  Server& self = of(user);
  const auto opened = self.events_->open();
  if (opened.stream == nullptr) {
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_REFUSED_STREAM);
    return 0;
  }
  opened.stream->id_ = frame->hd.stream_id;
  opened.stream->intake_.begin(*opened.arena, self.limits_.head);
  self.head_ = opened.head;
  nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, opened.stream);
  return 0;
}

int Server::Callbacks::on_header(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
                                 std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t,
                                 void* user) noexcept {
  Stream* stream = stream_of(session, frame->hd.stream_id);
  if (stream == nullptr) return 0;
  Server& self = of(user);
  try {
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      stream->intake_.field(text(name, name_size), text(value, value_size));
    } else {
      stream->intake_.trailer(text(name, name_size), text(value, value_size));
    }
  } catch (const std::bad_alloc&) {
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
  if (stream->intake_.flooded()) {
    self.pending_ = Fault::header_fields;
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  return 0;
}

// The library would leave such a field out and serve the rest; RFC 9113 8.2.1 says that the request is malformed.
int Server::Callbacks::on_invalid_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t*, std::size_t,
                                         const std::uint8_t*, std::size_t, std::uint8_t, void*) noexcept {
  return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

int Server::Callbacks::on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* user) noexcept {
  Server& self = of(user);
  if (frame->hd.type == NGHTTP2_PING) {
    if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) self.events_->on_pong();
    return 0;
  }
  if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
  Stream* stream = stream_of(session, frame->hd.stream_id);
  if (stream == nullptr) return 0;
  if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
    try {
      self.events_->on_head(*stream, stream->intake_.finish(follows(*frame), *self.head_), follows(*frame));
    } catch (const std::bad_alloc&) {
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    return 0;
  }
  if (follows(*frame) == BodyFollows::no) self.events_->on_end(*stream);
  return 0;
}

int Server::Callbacks::on_data(nghttp2_session* session, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                               std::size_t size, void* user) noexcept {
  Stream* stream = stream_of(session, id);
  if (stream != nullptr) {
    of(user).events_->on_data(*stream, text(data, size));
  } else {
    nghttp2_session_consume(session, id, size);
  }
  return 0;
}

int Server::Callbacks::on_close(nghttp2_session* session, std::int32_t id, std::uint32_t code, void* user) noexcept {
  Stream* stream = stream_of(session, id);
  if (stream == nullptr) return 0;
  nghttp2_session_set_stream_user_data(session, id, nullptr);
  of(user).events_->on_closed(*stream, static_cast<ErrorCode>(code));
  return 0;
}

int Server::Callbacks::on_sent(nghttp2_session* session, const nghttp2_frame* frame, void* user) noexcept {
  Server& self = of(user);
  if (frame->hd.type == NGHTTP2_RST_STREAM) {
    const auto code = frame->rst_stream.error_code;
    const bool ours = code == NGHTTP2_NO_ERROR || code == NGHTTP2_CANCEL || code == NGHTTP2_INTERNAL_ERROR;
    const Fault fault = ours ? Fault::none : self.watch_.count_reset(self.now_ms_);
    if (fault != Fault::none) self.pending_ = fault;
    return 0;
  }
  if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
  if (frame->hd.type == NGHTTP2_DATA) self.watch_.count_sent(frame->hd.length);
  Stream* stream = stream_of(session, frame->hd.stream_id);
  if (stream != nullptr) self.events_->on_sent(*stream, kFrameHeader + frame->hd.length, follows(*frame));
  return 0;
}

int Server::Callbacks::on_not_sent(nghttp2_session* session, const nghttp2_frame* frame, int, void* user) noexcept {
  if (frame->hd.type != NGHTTP2_HEADERS) return 0;
  Stream* stream = stream_of(session, frame->hd.stream_id);
  if (stream != nullptr) of(user).events_->on_unsendable(*stream);
  return 0;
}

int Server::Callbacks::send_data(nghttp2_session* session, nghttp2_frame* frame, const std::uint8_t* header,
                                 std::size_t length, nghttp2_data_source*, void* user) noexcept {
  Stream* stream = stream_of(session, frame->hd.stream_id);
  if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  switch (of(user).events_->put_data(text(header, kFrameHeader), *stream, length)) {
    case ServerEvents::Put::taken: return 0;
    case ServerEvents::Put::full: return NGHTTP2_ERR_WOULDBLOCK;
    case ServerEvents::Put::gone: break;
  }
  return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

ssize_t Server::Callbacks::read(nghttp2_session* session, std::int32_t id, std::uint8_t*, std::size_t length,
                                std::uint32_t* flags, nghttp2_data_source*, void* user) noexcept {
  Stream* stream = stream_of(session, id);
  if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  const Ready ready = of(user).events_->ready(*stream, length);
  if (ready.bytes == 0 && ready.end == Ready::End::no) return NGHTTP2_ERR_DEFERRED;
  *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (ready.end != Ready::End::no) *flags |= NGHTTP2_DATA_FLAG_EOF;
  if (ready.end == Ready::End::before_trailers) *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
  return static_cast<ssize_t>(ready.bytes);
}

void Server::Callbacks::install(nghttp2_session_callbacks* callbacks) noexcept {
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, &on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, &on_header);
  nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, &on_invalid_header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &on_frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &on_close);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, &on_sent);
  nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, &on_not_sent);
  nghttp2_session_callbacks_set_send_data_callback(callbacks, &send_data);
}

}  // namespace pontage::http2
