// The container's side of AJP/1.3, outgoing, for the reference origin (`pontage origin`) and for tests: SEND_HEADERS,
// body chunks, GET_BODY_CHUNK, END_RESPONSE, CPONG (ADAPTERS A7, A16, A21-A25, A28). Appends to a Sink and keeps
// nothing. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocols/ajp13/codes.h"
#include "protocols/ajp13/encode_refusal.h"
#include "protocols/message/head.h"
#include "protocols/wire/expected.h"
#include "protocols/wire/sink.h"

namespace pontage::ajp13 {

// One SEND_HEADERS packet of at most `packet_size` bytes. An exact head.body gives the one content-length and replaces
// any in head.headers; with another framing those go as they are (HEAD). Transfer-Encoding is never sent. After a
// refusal the sink is as long as before; it stays overflowed() when it was too small.
wire::Expected<void, EncodeRefusal> encode_send_headers(wire::Sink& sink, const message::ResponseHead& head,
                                                        std::size_t packet_size);

// One chunk with the first bytes of `data`, at most response_data_room(packet_size), and its NUL. Returns how many it
// took. Empty data writes nothing: that would be a flush.
std::size_t encode_body_chunk(wire::Sink& sink, std::string_view data, std::size_t packet_size = kMaxPacket);

// The seven bytes before `n` bytes of data that the caller sends from where they lie, followed by one NUL.
// 0 < n <= response_data_room(kMaxPacket).
std::array<char, kChunkHeader> body_chunk_header(std::size_t n) noexcept;

// Asks the gateway to pass on at once what it has (A23).
void encode_flush(wire::Sink& sink);

// Asks for up to `bytes` of request body; answered by one body packet (A16). Tell RequestDecoder::expect_body.
void encode_get_body_chunk(wire::Sink& sink, std::uint16_t bytes);

// The response is complete (A25).
void encode_end_response(wire::Sink& sink, Reuse reuse);

// The answer to CPING (A28).
void encode_cpong(wire::Sink& sink);

}  // namespace pontage::ajp13
