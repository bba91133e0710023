// What went wrong in one exchange, where, and whether it may be tried elsewhere (ADAPTERS X12). A small value that
// travels up as the error side of Result<T>; statuses, log reasons and metric labels are made from it in
// src/http/error_page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocols/wire/decode_error.h"
#include "protocols/wire/expected.h"

namespace pontage::util {

enum class ErrorKind : std::uint8_t {
  closed,  // end of stream where more was due
  reset,   // the peer reset the connection
  timeout,
  cancelled,   // client gone, drain deadline
  refused,     // connect failed
  unresolved,  // the name does not resolve (yet)
  protocol,    // what came in is illegal: see decode
  limit,       // legal, but over a limit: see decode or detail
  queue_full,
  queue_timeout,
  no_server,        // every server is down, or there is none
  too_large,        // body over its limit
  length_required,  // a body whose length must be known beforehand
  too_slow,         // body under the minimum rate
  misdirected,      // for a host that another certificate than the one shown is for
  unsupported,      // legal, but not served: CONNECT, Upgrade over AJP
  overload,         // out of descriptors or memory
  io,               // any other system error
};

inline constexpr std::size_t kErrorKinds = static_cast<std::size_t>(ErrorKind::io) + 1;

enum class Source : std::uint8_t { client, server, gateway };

// X12: (a) nothing was sent; (b) sent on a reused connection that closed without a byte; (c) anything else.
enum class RetryClass : std::uint8_t { none, not_sent, reused_closed };

struct Error {
  ErrorKind kind = ErrorKind::io;
  Source source = Source::gateway;
  RetryClass retry = RetryClass::none;
  int os_error = 0;                                         // errno, 0 when there is none
  wire::DecodeError decode = wire::DecodeError::truncated;  // for protocol and limit
  std::string_view detail{};  // a static text that names the step or the limit; never a secret
};

std::string_view to_string(ErrorKind kind) noexcept;
std::string_view to_string(Source source) noexcept;

template <class T>
using Result = wire::Expected<T, Error>;
using Failure = wire::Unexpected<Error>;

inline Failure fail(ErrorKind kind, Source source, std::string_view detail = {}, int os_error = 0) {
  return Failure(Error{.kind = kind, .source = source, .os_error = os_error, .detail = detail});
}
inline Failure fail_decode(wire::DecodeError error, Source source) {
  return Failure(Error{.kind = wire::is_limit(error) ? ErrorKind::limit : ErrorKind::protocol,
                       .source = source,
                       .decode = error,
                       .detail = wire::to_string(error)});
}

}  // namespace pontage::util
