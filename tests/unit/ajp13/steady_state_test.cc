// The codec allocates nothing once its buffers and the exchange's arena have grown (DESIGN "Steady state").
#include <cstdlib>
#include <new>
#include <string>

#include <gtest/gtest.h>

#include "protocols/ajp13/request_encoder.h"
#include "protocols/ajp13/response_encoder.h"
#include "tests/unit/ajp13/samples.h"

namespace {
std::size_t allocations = 0;
}  // namespace

// Kept out of line: g++ 12 takes an inlined pair for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace pontage::ajp13 {
namespace {

// One exchange with a head cut in two, a body of two chunks and the end.
void exchange(wire::Sink& sink, ResponseDecoder& decoder, std::string_view response, message::Arena& arena) {
  const auto mark = arena.mark();
  message::RequestHead request;
  request.method = message::Method::post;
  request.body = {message::BodyKind::exact, 5};
  message::HeaderList headers(arena);
  for (int i = 0; i < 15; ++i) headers.add("X-Some-Header", "with a value");
  ForwardRequest forward{.head = request,
                         .path = "/",
                         .query = {},
                         .headers = headers,
                         .remote_addr = "192.0.2.1",
                         .local_addr = "10.0.0.1",
                         .server_name = "example.org"};
  ASSERT_TRUE(encode_forward_request(sink, forward, kMinPacket));
  encode_body_packet(sink, "hello");
  decoder.reset();
  message::ResponseHead head;
  for (auto rest : {response.substr(0, 40), response.substr(40)}) {
    while (!rest.empty()) {
      const auto step = decoder.decode(rest, arena, message::Method::post, head);
      ASSERT_TRUE(step);
      rest.remove_prefix(step->consumed);
    }
  }
  ASSERT_TRUE(decoder.done());
  arena.rollback(mark);
  sink.truncate(0);
}

TEST(SteadyState, AnExchangeAllocatesNothingOnceWarm) {
  std::string room(1 << 16, '\0');
  wire::Sink sink(room);
  message::Arena arena;
  ResponseDecoder decoder(kMinPacket, {});
  testing::Bytes head;
  head.u8(4).u16(200).str("200").u16(3).u16(0xA001).str("text/html").u16(0xA007).str("a=b").str("X-Own").str("value");
  const auto response = head.to_gateway() + testing::chunk("one") + testing::chunk("two") + testing::end_response();
  exchange(sink, decoder, response, arena);
  const auto before = allocations;
  for (int i = 0; i < 10; ++i) exchange(sink, decoder, response, arena);
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace pontage::ajp13
