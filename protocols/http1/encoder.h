// HTTP/1.1 messages, outgoing: what we send is always unambiguous. Appends to a Sink; the caller checks overflowed().
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocols/message/head.h"
#include "protocols/wire/sink.h"

namespace pontage::http1 {

// "GET /path?query HTTP/1.1\r\n". `path` is the canonical path, `query` is sent when has_query.
void encode_request_line(wire::Sink& sink, std::string_view method, std::string_view path, bool has_query,
                         std::string_view query);

// "HTTP/1.1 200 OK\r\n", with our own reason phrase (ADAPTERS A22).
void encode_status_line(wire::Sink& sink, message::Version version, int status);

// "Name: value\r\n".
void encode_field(wire::Sink& sink, std::string_view name, std::string_view value);

// Content-Length or Transfer-Encoding for this framing; nothing for none and until_close.
void encode_framing(wire::Sink& sink, const message::BodyFraming& framing);

// "\r\n" after the last field.
void encode_end_of_head(wire::Sink& sink);

// "1a2b\r\n" before a chunk of `size` bytes (not 0); "\r\n" follows the chunk.
void encode_chunk_start(wire::Sink& sink, std::uint64_t size);
// "0\r\n", the trailers, "\r\n".
void encode_last_chunk(wire::Sink& sink, const message::HeaderList& trailers);

}  // namespace pontage::http1
