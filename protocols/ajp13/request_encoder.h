// The gateway's side of AJP/1.3, outgoing: FORWARD_REQUEST, request body packets, CPING (ADAPTERS A1-A18). Called by
// the AJP adapter on its worker's thread; appends to a Sink and keeps nothing. What it writes depends on `head.body`
// alone for framing, so that a container never sees a body it was not told of (A18).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "protocols/ajp13/codes.h"
#include "protocols/ajp13/encode_refusal.h"
#include "protocols/message/head.h"
#include "protocols/wire/expected.h"
#include "protocols/wire/sink.h"

namespace pontage::ajp13 {

// A request attribute beyond those every container knows. Tomcat answers 403 to names it was not told to allow (A9).
struct Attribute {
  std::string_view name;
  std::string_view value;
};

// What the client's TLS connection was; each part is sent when it is not empty (A8, A9).
struct TlsFacts {
  std::string_view protocol;     // "TLSv1.3"
  std::string_view cipher;       // "TLS_AES_128_GCM_SHA256"
  std::string_view session;      // hexadecimal id
  std::string_view certificate;  // the client's, PEM, a chain is allowed
  std::uint16_t key_size = 0;    // bits of the cipher; 0: not sent
};

// Views need to live for the call only.
struct ForwardRequest {
  const message::RequestHead& head;  // method, version and body framing come from here
  std::string_view path;   // canonical, after rewrite, still %-encoded, with path parameters, without query (A11)
  bool has_query = false;  // "/x?" sends an empty query, "/x" sends none (A11)
  std::string_view query;
  const message::HeaderList&
      headers;                   // ready to send: hop-by-hop fields gone, Host and X-Forwarded-* in. Content-Length and
                                 // Transfer-Encoding in it are skipped: head.body decides (A15, A18)
  std::string_view remote_addr;  // the client's, after trusted proxies; also sent as remote_host (A12)
  std::uint16_t remote_port = 0;
  std::string_view local_addr;
  std::string_view server_name;   // the host without port (A12)
  std::uint16_t server_port = 0;  // as the client sees it (A12)
  bool is_tls = false;
  TlsFacts tls{};                  // sent when is_tls
  std::string_view secret{};       // empty: none (A10)
  std::string_view activation{};   // JK_LB_ACTIVATION: ACT, DIS or STP; empty: none (A9)
  std::string_view route{};        // jvmRoute; empty: none
  std::string_view remote_user{};  // from our own authentication only (A13)
  std::string_view auth_type{};
  std::string_view protocol{};  // overrides the client's version, e.g. "HTTP/1.1"; empty: as the client (A14)
  std::span<const Attribute> attributes{};  // from the configuration only (A9)
};

// One FORWARD_REQUEST packet of at most `packet_size` bytes (see fit_packet_size). After a refusal the sink is as long
// as before; it stays overflowed() when it was too small. When head.body is exact with a length above 0, exactly one
// content-length is written and the first body packet must follow unasked; else none is and none may (A15, A18).
wire::Expected<void, EncodeRefusal> encode_forward_request(wire::Sink& sink, const ForwardRequest& request,
                                                           std::size_t packet_size);

// One request body packet with the first bytes of `data`, at most request_data_room(packet_size). Returns how many it
// took. Empty data writes nothing: the end of a body is said by encode_body_end only (A16).
std::size_t encode_body_packet(wire::Sink& sink, std::string_view data, std::size_t packet_size = kMaxPacket);

// The six bytes before `n` bytes of body data that the caller sends from where they lie. 0 < n <=
// request_data_room(kMaxPacket).
std::array<char, kBodyHeader> body_header(std::size_t n) noexcept;

// "Nothing more": the answer to GET_BODY_CHUNK when the body is at its end (A16). Never sent for a body that was cut
// short: the connection is closed instead, or the container takes the part for the whole (A19).
void encode_body_end(wire::Sink& sink);

// Asks whether the container is alive; answered by CPONG (A28).
void encode_cping(wire::Sink& sink);

}  // namespace pontage::ajp13
