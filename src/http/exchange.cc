#include "src/http/exchange.h"

#include "src/http/response.h"
#include "src/http/spool.h"

namespace pontage::http {

Exchange::Exchange(net::Reactor& reactor) noexcept : pump(reactor, *this) {}
Exchange::~Exchange() = default;

void Exchange::reset() noexcept {
  spool.reset();
  arena.reset();
  request = {};
  path = {};
  forward_path = {};
  forward_headers = {};
  bare_prefix = false;
  gather = true;
  variables = nullptr;
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
