// How long a body is: decided here, once, and never again (DESIGN "Body framing is decided once";
// RFC 9112 6.3; ADAPTERS X1, X9, A18). Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocols/message/header.h"
#include "protocols/message/method.h"
#include "protocols/wire/decode_error.h"
#include "protocols/wire/expected.h"

namespace pontage::message {

struct Version {
  std::uint8_t major = 1;
  std::uint8_t minor = 1;
  friend bool operator==(Version, Version) = default;
};
inline constexpr Version kHttp10{1, 0};
inline constexpr Version kHttp11{1, 1};
inline constexpr Version kHttp2{2, 0};

// "HTTP/1.1", "HTTP/2" and the like, as AJP and CGI tell the client's version; nullopt for anything else.
std::optional<Version> parse_version(std::string_view text) noexcept;

enum class BodyKind : std::uint8_t { none, exact, chunked, until_close };

struct BodyFraming {
  BodyKind kind = BodyKind::none;
  std::uint64_t length = 0;  // bytes, for `exact`
  friend bool operator==(const BodyFraming&, const BodyFraming&) = default;
};

// For a request: Transfer-Encoding must be exactly "chunked" (OWS around it is fine) on HTTP/1.1, in one field;
// together with Content-Length, on 1.0, doubled or anything else is an error. Content-Length must be one field of
// digits up to 2^63-1; empty, signed, listed or repeated is an error, even with equal values (CASES P01-P07).
// Length 0 gives `none`. Errors: bad_content_length, bad_transfer_encoding, unsupported_transfer_encoding (a
// well-formed coding other than chunked: 501), length_and_transfer_encoding.
wire::Expected<BodyFraming, wire::DecodeError> request_framing(const HeaderList& headers, Version version) noexcept;

// For a response to `request_method`: HEAD, 1xx, 204 and 304 have none (their Content-Length is still checked for
// syntax); 2xx to CONNECT none; then chunked, exact, until_close. Transfer-Encoding with Content-Length, or any coding
// but a single chunked, is an error. `exact` with length 0 stays `exact`, so that the 0 is forwarded.
wire::Expected<BodyFraming, wire::DecodeError> response_framing(const HeaderList& headers, Version version, int status,
                                                                Method request_method) noexcept;

}  // namespace pontage::message
