// The head of a CGI response (RFC 3875 6; ADAPTERS C1-C3, X7-X9), as FastCGI, SCGI, uwsgi and CGI servers send it:
// field lines that end with LF or CRLF, or a full "HTTP/1.x NNN" status line before them. Owned by one backend
// connection, used on its worker's thread. A head that comes in one piece is read in place, else it is gathered, at
// most the limits. After an error it stays failed until reset().
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "protocols/http1/head_intake.h"
#include "protocols/message/arena.h"
#include "protocols/message/head.h"
#include "protocols/wire/decode_error.h"
#include "protocols/wire/expected.h"
#include "protocols/wire/limits.h"

namespace pontage::cgi {

class ResponseDecoder {
 public:
  explicit ResponseDecoder(const wire::HeadLimits& limits) noexcept : limits_(limits) {}

  // On `head`, `consumed` ends with the head, its texts are in `arena`, and the status is decided: the status line's,
  // the Status field's, 302 with Location alone, else 200. Status and Transfer-Encoding are gone, Connection and what
  // it names are the forwarder's to remove; framing is exact, none, or until_close. Consumes everything on need_more.
  // Errors: malformed_header (also a head without Content-Type, Location or Status), malformed_status_line (also below
  // 200), bad_content_length, the limits.
  wire::Expected<http1::HeadStep, wire::DecodeError> decode(std::string_view input, message::Arena& arena,
                                                            message::Method request_method,
                                                            message::ResponseHead& head);
  // True when a part of a head has been taken in.
  bool in_progress() const noexcept { return !pending_.empty(); }
  void reset() noexcept;

 private:
  struct Progress {
    std::size_t line = 0;     // where the line being read starts
    std::size_t scanned = 0;  // no LF lies between `line` and here
    std::size_t lines = 0;
  };

  // The size of the head with its empty line; 0 when more is needed.
  wire::Expected<std::size_t, wire::DecodeError> scan(std::string_view text) noexcept;
  wire::Expected<http1::HeadText, wire::DecodeError> take(std::string_view input);
  wire::Unexpected<wire::DecodeError> fail(wire::DecodeError error) noexcept;

  wire::HeadLimits limits_;
  std::string pending_;
  Progress progress_;
  std::optional<wire::DecodeError> failure_;
};

}  // namespace pontage::cgi
