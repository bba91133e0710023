// A response on its way up from a handler to the session: head, body, trailers (with the body's last batch). Move-only
// value; worker's thread.
#pragma once

#include <string_view>

#include "protocols/message/head.h"
#include "src/http/body_source.h"

namespace pontage::http {

struct Response {
  // head.body is the framing of what the client gets: `exact` when the length is known, `chunked` when not (sessions
  // choose how to delimit), `none` without a body. Content-Length and Transfer-Encoding are never in head.headers:
  // sessions write them from head.body.
  message::ResponseHead head;
  BodyPtr body;  // nullptr: nothing follows
  // Ready-made HTTP/1 field lines that say the same as head.headers and head.body, each ended by CRLF; empty: make them
  // from the list. Valid as long as `body`, or the exchange. Whoever edits the headers clears it and edits a copy
  // (own_headers).
  std::string_view prepared;

  // Makes head.headers a private copy that may be changed; clears `prepared`.
  void own_headers(message::Arena& arena);
};

}  // namespace pontage::http
