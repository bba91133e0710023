// What a request costs once the gateway is warm: no allocation, and every cycle accounted for. This program counts the
// allocations of the worker's thread.
#include <cstdlib>
#include <ctime>
#include <new>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/frontend/gateway.h"

namespace {

thread_local bool counting = false;
thread_local long allocations = 0;

void* count_and_allocate(std::size_t bytes) {
  if (counting) ++allocations;
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Not inlined: g++ would see malloc and free through them and find fault with the pair.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return count_and_allocate(bytes);
}
[[gnu::noinline]] void* operator new[](std::size_t bytes) {
  return count_and_allocate(bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  if (counting) ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace pontage::frontend {
namespace {

using observe::Family;
using testing::Answer;
using testing::Client;
using testing::Gateway;

constexpr std::string_view kBrowserGet =
    "GET /some/path?with=query HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: test\r\nAccept: */*\r\n\r\n";
constexpr std::string_view kPost =
    "POST /some/path HTTP/1.1\r\nHost: www.example.org\r\nContent-Length: 10\r\n\r\n0123456789";

// Allocations on the worker's thread during `requests` exchanges of one connection.
long allocations_during(Gateway& gateway, Client& client, std::string_view request, int requests) {
  gateway.on_worker([] {
    allocations = 0;
    counting = true;
  });
  for (int i = 0; i < requests; ++i) {
    EXPECT_TRUE(client.send(request));
    EXPECT_EQ(client.receive().status, 200);
  }
  long seen = -1;
  gateway.on_worker([&] {
    counting = false;
    seen = allocations;
  });
  return seen;
}

TEST(SteadyState, AFixedResponseAllocatesNothing) {
  Gateway gateway(&testing::hello);
  Client client = gateway.connect();
  allocations_during(gateway, client, kBrowserGet, 100);
  EXPECT_EQ(allocations_during(gateway, client, kBrowserGet, 1000), 0);
}

TEST(SteadyState, ARequestBodyAllocatesNothing) {
  Gateway gateway(&testing::echo);
  Client client = gateway.connect();
  allocations_during(gateway, client, kPost, 100);
  EXPECT_EQ(allocations_during(gateway, client, kPost, 1000), 0);
}

std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream, std::string_view payload) {
  std::string bytes;
  for (const int shift : {16, 8, 0}) bytes += static_cast<char>(payload.size() >> shift);
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(stream >> shift);
  return bytes.append(payload);
}

// Reads frames until the stream has ended; its answer's body.
std::string read_answer(Client& client, std::uint32_t stream) {
  std::string body;
  for (;;) {
    const std::string head = client.take(9);
    if (head.size() < 9) return "cut off";
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(head[i])); };
    const std::string payload = client.take(byte(0) << 16 | byte(1) << 8 | byte(2));
    if ((byte(5) << 24 | byte(6) << 16 | byte(7) << 8 | byte(8)) != stream) continue;
    if (byte(3) == 0) body += payload;
    if (byte(3) <= 1 && (byte(4) & 1) != 0) return body;
  }
}

// The same over HTTP/2: `requests` streams, each of these frames (type, flags, payload).
struct Part {
  std::uint8_t type, flags;
  std::string_view payload;
};
long allocations_during(Gateway& gateway, Client& client, std::uint32_t& stream, std::initializer_list<Part> parts,
                        std::string_view expected, int requests = 1000) {
  gateway.on_worker([] {
    allocations = 0;
    counting = true;
  });
  for (int i = 0; i < requests; ++i, stream += 2) {
    std::string request;
    for (const Part& part : parts) request += frame(part.type, part.flags, stream, part.payload);
    EXPECT_TRUE(client.send(request));
    EXPECT_EQ(read_answer(client, stream), expected);
  }
  long seen = -1;
  gateway.on_worker([&] {
    counting = false;
    seen = allocations;
  });
  return seen;
}

// The same within one second of the clock: with another date there is another entry in HPACK's table, with a name and a
// value, until the table is full.
long allocations_in_one_second(Gateway& gateway, Client& client, std::uint32_t& stream,
                               std::initializer_list<Part> parts, std::string_view expected) {
  const auto second = [] {
    timespec now{};
    clock_gettime(CLOCK_REALTIME_COARSE, &now);  // the reactor's
    return now.tv_sec;
  };
  for (;;) {
    const auto begun = second();
    allocations_during(gateway, client, stream, parts, expected, 1);
    const long seen = allocations_during(gateway, client, stream, parts, expected, 200);
    if (second() == begun) return seen;
  }
}

// Several streams at once, so that all there is for them has grown: the next request may come before the last one's
// stream is put away.
void warm_up(Client& client, std::uint32_t& stream, std::initializer_list<Part> parts) {
  constexpr int kAtOnce = 8;
  for (int i = 0; i < 200; ++i) {
    std::string requests;
    for (int k = 0; k < kAtOnce; ++k, stream += 2) {
      for (const Part& part : parts) requests += frame(part.type, part.flags, stream, part.payload);
    }
    ASSERT_TRUE(client.send(requests));
    for (int ended = 0; ended < kAtOnce;) {
      const std::string head = client.take(9);
      ASSERT_EQ(head.size(), 9U);
      const auto byte = [&](std::size_t k) { return static_cast<std::size_t>(static_cast<unsigned char>(head[k])); };
      client.take(byte(0) << 16 | byte(1) << 8 | byte(2));
      if (byte(3) <= 1 && (byte(4) & 1) != 0) ++ended;
    }
  }
}

const std::string kPreface = std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + frame(4, 0, 0, "");
constexpr std::string_view kGetFields("\x82\x86\x84\x41\1a", 6);   // GET http://a/ by HPACK's static table
constexpr std::string_view kPostFields("\x83\x86\x84\x41\1a", 6);  // POST

TEST(SteadyState, OverHttp2AFixedResponseAllocatesNothing) {
  Gateway gateway(&testing::hello);
  Client client = gateway.connect({.half_close = {}, .http2 = Http2::on});
  ASSERT_TRUE(client.send(kPreface));
  std::uint32_t stream = 1;
  warm_up(client, stream, {{1, 5, kGetFields}});
  EXPECT_EQ(allocations_in_one_second(gateway, client, stream, {{1, 5, kGetFields}}, "hello\n"), 0);
}

TEST(SteadyState, OverHttp2ARequestBodyAllocatesNothing) {
  Gateway gateway(&testing::echo);
  Client client = gateway.connect({.half_close = {}, .http2 = Http2::on});
  ASSERT_TRUE(client.send(kPreface));
  std::uint32_t stream = 1;
  const std::initializer_list<Part> post{{1, 4, kPostFields}, {0, 1, "0123456789"}};
  warm_up(client, stream, post);
  EXPECT_EQ(allocations_in_one_second(gateway, client, stream, post, "0123456789"), 0);
}

Answer waits(http::Exchange& exchange) {
  net::Pause pause(exchange.reactor().after(5));
  co_await pause;
  net::Yield yield;
  co_await yield;
  co_return http::make_response(exchange, 200, "text/plain", "hello\n");
}

TEST(SteadyState, PhasesAddUpToTheWholeTime) {
  constexpr int kRequests = 20;
  for (const auto handler : {&testing::hello, &waits, &testing::echo}) {
    Gateway gateway(handler);
    Client client = gateway.connect();
    const bool reads = handler == &testing::echo;
    const std::string_view request = reads ? kPost : kBrowserGet;
    // A body that comes late, so that there is time spent on the client; a head in two parts all the same.
    const std::size_t split = request.size() - 5;
    for (int i = 0; i < kRequests; ++i) {
      ASSERT_TRUE(client.send(request.substr(0, split)));
      gateway.on_worker([] {});
      ASSERT_TRUE(client.send(request.substr(split)));
      ASSERT_EQ(client.receive().status, 200);
    }
    const double whole = gateway.total(Family::request_duration_seconds);
    const double parts = gateway.total(Family::phase_duration_seconds);
    EXPECT_GT(whole, 0);
    EXPECT_NEAR(whole, parts, kRequests * static_cast<double>(observe::kPhases)) << "nanoseconds, each rounded down";
  }
}

}  // namespace
}  // namespace pontage::frontend
