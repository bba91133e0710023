// What a head costs (PERF.md section 3): g++ -O2, google-benchmark.
#include <string_view>

#include <benchmark/benchmark.h>

#include "protocols/http1/decoder.h"

namespace {

using namespace pontage;

constexpr std::string_view kSmall = "GET /hello HTTP/1.1\r\nHost: www.example.org\r\n\r\n";
constexpr std::string_view kBrowser =
    "GET /shop/catalogue/items?category=garden&page=3&sort=price HTTP/1.1\r\n"
    "Host: www.example.org\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 "
    "Safari/537.36\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8\r\n"
    "Accept-Encoding: gzip, deflate, br\r\n"
    "Accept-Language: en-GB,en;q=0.9,de;q=0.8\r\n"
    "Connection: keep-alive\r\n"
    "Referer: https://www.example.org/shop/catalogue/items?category=garden&page=2\r\n"
    "Cookie: session=0123456789abcdef0123456789abcdef; consent=all; theme=dark; basket=9f8e7d6c5b4a\r\n"
    "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n";

void decode_request(benchmark::State& state, std::string_view text) {
  message::Arena arena;
  message::RequestHead head;
  http1::RequestDecoder decoder{wire::HeadLimits{}};
  for (auto _ : state) {
    const auto step = decoder.decode(text, arena, head);
    benchmark::DoNotOptimize(step);
    arena.reset();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

}  // namespace

BENCHMARK_CAPTURE(decode_request, small, kSmall);
BENCHMARK_CAPTURE(decode_request, browser, kBrowser);
BENCHMARK_MAIN();
