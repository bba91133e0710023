// The server's end of an HTTP/2 connection: whatever comes in and however it is cut, nothing breaks, heads that come
// out keep the promises that the rest of the gateway builds on, and what is sent are whole frames. Input after the
// first byte follows a preface of our own, for else nothing would ever get past it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/http2/server.h"
#include "protocols/wire/ascii.h"

namespace {

using namespace pontage;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Request final : http2::Stream {
  message::Arena arena;
  message::RequestHead head;
  std::size_t left = 100;  // of the answer's body
  bool known = true;
};

class Application final : public http2::ServerEvents {
 public:
  Opened open() noexcept override {
    if (requests.size() >= 64) return {};
    requests.push_back(std::make_unique<Request>());
    Request& request = *requests.back();
    return {&request, &request.arena, &request.head};
  }
  void on_head(http2::Stream& stream, wire::Expected<void, wire::DecodeError> result,
               http2::BodyFollows follows) noexcept override {
    auto& request = static_cast<Request&>(stream);
    if (result) check(request.head, follows);
    begun.push_back(&request);
  }
  void on_data(http2::Stream& stream, std::string_view data) noexcept override {
    require(static_cast<Request&>(stream).known);
    used.emplace_back(&stream, data.size());
  }
  void on_end(http2::Stream& stream) noexcept override { require(static_cast<Request&>(stream).known); }
  void on_closed(http2::Stream& stream, http2::ErrorCode) noexcept override {
    require(std::exchange(static_cast<Request&>(stream).known, false));
  }
  void on_pong() noexcept override {}
  http2::Ready ready(http2::Stream& stream, std::size_t most) noexcept override {
    const std::size_t left = static_cast<Request&>(stream).left;
    const std::size_t now = std::min(left, most);
    return {now == left ? http2::Ready::End::body : http2::Ready::End::no, now};
  }
  Put put(std::string_view frame) noexcept override {
    check_frame(frame, 0);
    return Put::taken;
  }
  Put put_data(std::string_view header, http2::Stream& stream, std::size_t bytes) noexcept override {
    auto& request = static_cast<Request&>(stream);
    require(request.known && bytes <= request.left);
    check_frame(header, bytes);
    request.left -= bytes;
    return Put::taken;
  }
  void on_sent(http2::Stream& stream, std::size_t, http2::BodyFollows) noexcept override {
    require(static_cast<Request&>(stream).known);
  }
  void on_unsendable(http2::Stream&) noexcept override {}

  // What the application does between the codec's calls.
  void serve(http2::Server& server) {
    for (const auto& [stream, bytes] : used) {
      server.consumed_connection(bytes);
      if (static_cast<Request*>(stream)->known) server.consumed_stream(*stream, bytes);
    }
    used.clear();
    for (Request* request : begun) {
      if (!request->known) continue;
      message::ResponseHead head;
      head.status = 200;
      head.headers = message::HeaderList(request->arena);
      head.body = {message::BodyKind::exact, request->left};
      server.respond(*request, head, {"now", "pontage"}, http2::BodyFollows::yes, request->arena);
    }
    begun.clear();
    server.send();
  }

 private:
  static void check(const message::RequestHead& head, http2::BodyFollows follows) {
    require(wire::is_token(head.method_text) && !head.authority.empty());
    require(head.headers.count(message::HeaderId::host) == 1 && head.headers.count(message::HeaderId::cookie) <= 1);
    require(!head.headers.has(message::HeaderId::transfer_encoding) &&
            !head.headers.has(message::HeaderId::connection));
    require(follows == http2::BodyFollows::yes || head.body.kind == message::BodyKind::none);
    require(head.target_text.find_first_of("\r\n ") == std::string_view::npos);
    for (const auto& h : head.headers) {
      require(wire::is_token(h.name) && wire::is_field_value(h.value) && h.value == wire::trim_ows(h.value));
    }
  }
  static void check_frame(std::string_view frame, std::size_t behind) {
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(frame[i])); };
    while (!frame.empty()) {
      require(frame.size() >= 9);
      const std::size_t length = byte(0) << 16 | byte(1) << 8 | byte(2);
      require(length + 9 <= frame.size() + behind);
      frame.remove_prefix(std::min(frame.size(), length + 9));
    }
  }

  std::vector<std::unique_ptr<Request>> requests;
  std::vector<Request*> begun;
  std::vector<std::pair<http2::Stream*, std::size_t>> used;
};

void run(std::string_view input, std::size_t piece) {
  Application application;
  http2::ServerLimits limits;
  limits.head = {.request_line = 200, .header = 200, .headers = 1000, .header_count = 20};
  limits.streams = 16;
  limits.memory = 1 << 20;
  http2::Server server(application, limits);
  require(server.good());
  static constexpr std::string_view kStart("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
  std::uint64_t now = 0;
  require(server.receive(kStart, now) == http2::Fault::none);
  while (!input.empty() && server.fault() == http2::Fault::none) {
    const std::string_view part = input.substr(0, piece);
    input.remove_prefix(part.size());
    server.receive(part, now++);
    application.serve(server);
  }
  server.announce_end();
  server.go_away(http2::ErrorCode::no_error);
  server.send();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  run(input, input.size() + 1);
  run(input, 1 + data[0] % 64);
  return 0;
}
