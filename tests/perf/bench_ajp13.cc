// What AJP costs for each request: a request of 15 fields encoded, and its answer decoded (PERF.md section 7).
#include <array>
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>

#include "protocols/ajp13/request_encoder.h"
#include "protocols/ajp13/response_decoder.h"
#include "protocols/ajp13/response_encoder.h"

namespace {

using namespace pontage;
using message::HeaderId;

message::HeaderList fields(message::Arena& arena) {
  message::HeaderList list(arena);
  list.add(HeaderId::host, "www.example.org");
  list.add(HeaderId::user_agent, "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0");
  list.add(HeaderId::accept, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");
  list.add("Accept-Encoding", "gzip, deflate, br");
  list.add("Accept-Language", "en-GB,en;q=0.9,de;q=0.8");
  list.add("Cookie", "JSESSIONID=0123456789abcdef0123456789abcdef.a; consent=all; theme=dark");
  list.add(HeaderId::referer, "https://www.example.org/shop/catalogue/items?category=garden&page=2");
  list.add("Cache-Control", "max-age=0");
  list.add("Sec-Fetch-Dest", "document");
  list.add("Sec-Fetch-Mode", "navigate");
  list.add("Sec-Fetch-Site", "same-origin");
  list.add("Upgrade-Insecure-Requests", "1");
  list.add("Via", "1.1 pontage");
  list.add("X-Request-Id", "01890a5d-ac96-774b-bcce-b302099a8057");
  list.add("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  return list;
}

std::string answer(message::Arena& arena) {
  std::array<char, 4096> room;
  wire::Sink sink(room);
  message::ResponseHead head;
  head.status = 200;
  head.headers = message::HeaderList(arena);
  head.headers.add(HeaderId::content_type, "text/html;charset=UTF-8");
  head.headers.add("Set-Cookie", "JSESSIONID=0123456789abcdef0123456789abcdef.a; Path=/; HttpOnly");
  head.body = {message::BodyKind::exact, 24};
  if (!ajp13::encode_send_headers(sink, head, 8192)) std::abort();
  ajp13::encode_body_chunk(sink, "<html>Hello World</html>");
  ajp13::encode_end_response(sink, ajp13::Reuse::yes);
  return std::string(sink.view());
}

void encode(benchmark::State& state) {
  message::Arena arena;
  const auto headers = fields(arena);
  message::RequestHead head;
  head.method = message::Method::get;
  head.method_text = "GET";
  const ajp13::ForwardRequest request{.head = head,
                                      .path = "/shop/catalogue/items",
                                      .has_query = true,
                                      .query = "category=garden&page=3&sort=price",
                                      .headers = headers,
                                      .remote_addr = "192.0.2.1",
                                      .local_addr = "10.0.0.1",
                                      .server_name = "www.example.org",
                                      .server_port = 443,
                                      .is_tls = true,
                                      .activation = "ACT"};
  std::array<char, 8192> room;
  for (auto _ : state) {
    wire::Sink sink(room);
    const auto done = ajp13::encode_forward_request(sink, request, 8192);
    benchmark::DoNotOptimize(done);
    benchmark::DoNotOptimize(room);
  }
}

void decode(benchmark::State& state) {
  message::Arena arena;
  message::Arena kept;
  const std::string text = answer(kept);
  ajp13::ResponseDecoder decoder(8192, wire::HeadLimits{});
  message::ResponseHead head;
  for (auto _ : state) {
    decoder.reset();
    head = {};
    for (std::string_view rest = text; !rest.empty();) {
      const auto step = decoder.decode(rest, arena, message::Method::get, head);
      if (!step) std::abort();
      rest.remove_prefix(step->consumed);
      benchmark::DoNotOptimize(step);
    }
    arena.reset();
  }
}

}  // namespace

BENCHMARK(encode);
BENCHMARK(decode);
BENCHMARK_MAIN();
