// The application server's side of the CGI variables (RFC 3875 4.1): from what FastCGI, SCGI and uwsgi carry back to a
// request. For the reference origin (`pontage origin`) and for tests. Pure; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "protocols/cgi/variables.h"
#include "protocols/message/arena.h"
#include "protocols/message/head.h"
#include "protocols/wire/decode_error.h"
#include "protocols/wire/expected.h"
#include "protocols/wire/limits.h"

namespace pontage::cgi {

// One event of a request on its way in, whatever its encoding.
enum class RequestEvent : std::uint8_t {
  need_more,  // all input is consumed
  head,       // the variables are complete
  body,       // `data`: the next bytes of the body
  end,        // the request has ended; may come without a further byte
  aborted,    // FastCGI: the gateway wants no answer any more
};

struct RequestStep {
  std::size_t consumed = 0;
  RequestEvent event = RequestEvent::need_more;
  std::string_view data{};  // for `body`: never empty, a view of the input
};

// Adds a variable as it was received. Errors: bad_string (no name, a name that was there before or has NUL or '=' in
// it, NUL in the value), and too_many_headers when there are `limits.header_count` already.
std::optional<wire::DecodeError> take_variable(VariableList& list, std::string_view name, std::string_view value,
                                               const wire::HeadLimits& limits);

// What CONTENT_LENGTH says; nullopt when it is not there or empty. Error: bad_content_length.
wire::Expected<std::optional<std::uint64_t>, wire::DecodeError> content_length(const VariableList& variables) noexcept;

// Sets `head` from the variables. HTTP_X_Y becomes the field X-Y, known names in their own spelling; Content-Length and
// Content-Type come from the variables of that name, a length of 0 being no body; the authority is Host, or else
// SERVER_NAME. REQUEST_METHOD, REQUEST_URI (the canonical target) and SERVER_PROTOCOL must be there; all others that
// are not of a field are left alone. Made texts are in `arena`, the rest are the variables' own. Errors:
// malformed_request_line, malformed_target, unsupported_version, malformed_header, malformed_host, bad_content_length,
// bad_transfer_encoding (HTTP_TRANSFER_ENCODING: a coding that the gateway did not take off), request_line_too_long,
// header_too_long.
std::optional<wire::DecodeError> read_request_head(const VariableList& variables, const wire::HeadLimits& limits,
                                                   message::Arena& arena, message::RequestHead& head);

}  // namespace pontage::cgi
