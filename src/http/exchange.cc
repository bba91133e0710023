#include "src/http/exchange.h"

#include "src/http/response.h"

namespace pontage::http {

void Exchange::reset() noexcept {
  arena.reset();
  request = {};
  path = {};
  forward_path = {};
  forward_headers = {};
  bare_prefix = false;
  body = nullptr;
  client = {};
  request_id = {};
  trace_id = {};
  outcome = {};
  pump.reset();
}

void Response::own_headers(message::Arena& arena) {
  message::HeaderList copy(arena);
  for (const auto& h : head.headers) copy.add(h.name, h.value, h.id);
  head.headers = copy;
  prepared = {};
}

net::Task<util::Result<void>> MemoryBody::pull(BodyBatch& batch, std::size_t, Patience) {
  batch.add(bytes_);
  batch.last = Last::yes;
  return net::Task<util::Result<void>>::ready({});
}

}  // namespace pontage::http
