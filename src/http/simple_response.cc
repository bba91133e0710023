#include "src/http/simple_response.h"

#include <new>

#include "protocols/message/status.h"

namespace pontage::http {

Response make_response(Exchange& exchange, int status, std::string_view content_type, std::string_view body) {
  Response response;
  response.head.status = status;
  response.head.headers = message::HeaderList(exchange.arena);
  if (message::forbids_body(status)) return response;
  response.head.body = {message::BodyKind::exact, body.size()};
  if (!content_type.empty()) response.head.headers.add(message::HeaderId::content_type, content_type);
  if (exchange.request.method == message::Method::head || body.empty()) return response;
  response.body = BodyPtr(new (exchange.arena.allocate(sizeof(MemoryBody), alignof(MemoryBody))) MemoryBody(body));
  return response;
}

}  // namespace pontage::http
