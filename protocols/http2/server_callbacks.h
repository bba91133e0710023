// What the library calls back, for one Server. An own file so that each half can be read at once; used by server.cc and
// server_callbacks.cc only. Nothing in here throws: it is called from C.
#pragma once

#include <nghttp2/nghttp2.h>

#include "protocols/http2/server.h"

namespace pontage::http2 {

struct Server::Callbacks {
  static Server& of(void* user) noexcept { return *static_cast<Server*>(user); }
  static Stream* stream_of(nghttp2_session* session, std::int32_t id) noexcept {
    return static_cast<Stream*>(nghttp2_session_get_stream_user_data(session, id));
  }

  static int on_begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void* user) noexcept;
  static int on_header(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t flags,
                       void* user) noexcept;
  static int on_invalid_header(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
                               std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                               std::uint8_t flags, void* user) noexcept;
  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* user) noexcept;
  static int on_data(nghttp2_session* session, std::uint8_t flags, std::int32_t id, const std::uint8_t* data,
                     std::size_t size, void* user) noexcept;
  static int on_close(nghttp2_session* session, std::int32_t id, std::uint32_t code, void* user) noexcept;
  static int on_sent(nghttp2_session* session, const nghttp2_frame* frame, void* user) noexcept;
  static int on_not_sent(nghttp2_session* session, const nghttp2_frame* frame, int error, void* user) noexcept;
  static int send_data(nghttp2_session* session, nghttp2_frame* frame, const std::uint8_t* header, std::size_t length,
                       nghttp2_data_source* source, void* user) noexcept;
  static ssize_t read(nghttp2_session* session, std::int32_t id, std::uint8_t* buffer, std::size_t length,
                      std::uint32_t* flags, nghttp2_data_source* source, void* user) noexcept;

  static void install(nghttp2_session_callbacks* callbacks) noexcept;
};

}  // namespace pontage::http2
