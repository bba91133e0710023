#include "src/http/error_page.h"

#include <charconv>

#include "protocols/message/status.h"
#include "protocols/wire/ascii.h"
#include "src/http/simple_response.h"

namespace pontage::http {

using util::ErrorKind;
using util::Source;
using wire::DecodeError;

namespace {

int status_of_decode(DecodeError error) noexcept {
  switch (error) {
    case DecodeError::unsupported_version: return 505;
    case DecodeError::unsupported_transfer_encoding: return 501;
    case DecodeError::request_line_too_long: return 414;
    case DecodeError::header_too_long:
    case DecodeError::headers_too_long:
    case DecodeError::too_many_headers: return 431;
    default: return 400;
  }
}

}  // namespace

int status_of(const util::Error& error) noexcept {
  switch (error.kind) {
    case ErrorKind::closed:
    case ErrorKind::reset:
    case ErrorKind::io:
      // Ours is a disk that is full, or the like.
      if (error.source == Source::gateway) return 503;
      return error.source == Source::client ? 499 : 502;
    case ErrorKind::cancelled: return 499;
    case ErrorKind::timeout: return error.source == Source::client ? 408 : 504;
    case ErrorKind::too_slow: return 408;
    case ErrorKind::refused:
    case ErrorKind::unresolved: return 502;
    case ErrorKind::protocol: return error.source == Source::client ? status_of_decode(error.decode) : 502;
    case ErrorKind::limit:
      if (error.source == Source::client) return status_of_decode(error.decode);
      return error.source == Source::server ? 502 : 431;
    case ErrorKind::too_large: return 413;
    case ErrorKind::length_required: return 411;
    case ErrorKind::misdirected: return 421;
    case ErrorKind::queue_full:
    case ErrorKind::queue_timeout:
    case ErrorKind::no_server:
    case ErrorKind::overload: return 503;
    case ErrorKind::unsupported: return 501;
  }
  return 500;
}

std::string_view end_reason(const util::Error& error) noexcept {
  const bool client = error.source == Source::client;
  const bool server = error.source == Source::server;
  switch (error.kind) {
    case ErrorKind::closed:
    case ErrorKind::reset:
    case ErrorKind::io: return client ? "CD" : server ? "SB" : "GO";
    case ErrorKind::cancelled: return client ? "CD" : "GD";
    case ErrorKind::timeout: return client ? "CT" : "ST";
    case ErrorKind::too_slow: return "CT";
    case ErrorKind::refused: return "SC";
    case ErrorKind::unresolved: return "SN";
    case ErrorKind::protocol: return client ? "CR" : "SP";
    case ErrorKind::limit: return client ? "CL" : server ? "SL" : "GL";
    case ErrorKind::too_large: return "CL";
    case ErrorKind::length_required:
    case ErrorKind::misdirected: return "CR";
    case ErrorKind::queue_full:
    case ErrorKind::queue_timeout: return "GQ";
    case ErrorKind::no_server: return "GN";
    case ErrorKind::unsupported: return "GU";
    case ErrorKind::overload: return "GO";
  }
  return "G-";
}

Response make_error_response(Exchange& exchange, int status, std::string_view detail) {
  message::Arena& arena = exchange.arena;
  const std::string_view reason = message::reason_phrase(status);
  const auto digits = arena.chars(3);
  std::to_chars(digits.data(), digits.data() + digits.size(), status);
  const std::string_view code(digits.data(), digits.size());
  std::string_view accept;
  for (const auto& h : exchange.request.headers) {
    if (h.id == message::HeaderId::accept) accept = h.value;
  }
  std::string_view type = "text/plain; charset=utf-8";
  std::string_view body;
  if (accept.find("json") != std::string_view::npos) {
    type = "application/problem+json";
    body = arena.join({R"({"type":"about:blank","title":")", reason, R"(","status":)", code, R"(,"detail":")", detail,
                       R"(","instance":")", exchange.request_id, "\"}\n"});
  } else if (accept.find("text/html") != std::string_view::npos) {
    type = "text/html; charset=utf-8";
    body = arena.join({"<!doctype html><html><head><title>", code, " ", reason, "</title></head><body><h1>", code, " ",
                       reason, "</h1><p>", detail, "</p></body></html>\n"});
  } else {
    body = arena.join({code, " ", reason, detail.empty() ? "" : ": ", detail, "\n"});
  }
  Response response = make_response(exchange, status, type, body);
  if (status == 503) response.head.headers.add(message::HeaderId::retry_after, "1");
  return response;
}

}  // namespace pontage::http
