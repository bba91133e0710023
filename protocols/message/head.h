// The request and response heads that every codec produces and consumes. All texts live in the exchange's arena,
// never in a connection's buffer (DESIGN "Heads"). The request head is immutable once routed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocols/message/framing.h"
#include "protocols/message/header.h"
#include "protocols/message/method.h"
#include "protocols/message/target.h"
#include "protocols/wire/decode_error.h"

namespace pontage::message {

// What the client said about the connection's future (RFC 9112 9.3); for HTTP/1 only.
enum class Persistence : std::uint8_t { close, keep_alive };

struct RequestHead {
  Method method = Method::other;
  std::string_view method_text;
  std::string_view target_text;  // the target as received, for logs
  Target target;
  std::string_view
      authority;  // the effective host[:port]: absolute form wins over Host (CASES P17); empty on 1.0 without Host
  std::string_view host;   // lower-cased, without port and without a trailing dot
  std::uint16_t port = 0;  // 0 when not given
  Version version = kHttp11;
  HeaderList headers;  // as received; Host is in it once at most
  BodyFraming body;
  Persistence persistence = Persistence::keep_alive;
  bool expect_continue = false;  // "Expect: 100-continue" on 1.1
};

// Sets authority, host and port of a request that a gateway passes on: from Host, or else from what the gateway says
// the server is called. Errors: duplicate_host, malformed_host.
std::optional<wire::DecodeError> settle_authority(RequestHead& head, std::string_view server_name,
                                                  std::uint16_t server_port, Arena& arena);

struct ResponseHead {
  int status = 0;           // 100..999
  std::string_view reason;  // as received; ours are made from the status
  Version version = kHttp11;
  HeaderList headers;
  BodyFraming body;
  Persistence persistence = Persistence::keep_alive;
};

}  // namespace pontage::message
