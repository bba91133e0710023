#include "src/origin/faults_http.h"

#include <string>

#include "src/origin/pattern.h"
#include "src/origin/session.h"

namespace pontage::origin {
namespace {

using After = Session::After;

constexpr std::string_view kGood = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\ngood\n";

net::Task<Done> nothing_more() {
  co_return Done{};
}

// Sends the bytes as they are; what becomes of the connection is `after`, where `keep` means what the request asked
// for.
net::Task<Done> raw(Session& session, std::string_view bytes, After after = After::keep) {
  session.out().append(bytes);
  if (after != After::keep) session.then(after);
  return nothing_more();
}

net::Task<Done> raw_then_hang(Session& session, std::string_view bytes) {
  session.out().append(bytes);
  return session.wait_for_close();
}

net::Task<Done> reset(Session& session) {
  return raw(session, {}, After::abort);
}
net::Task<Done> close(Session& session) {
  return raw(session, {}, After::close);
}
net::Task<Done> garbage(Session& session) {
  using namespace std::string_view_literals;
  return raw(session, "\x16\x03\x01\0\xff\xfe no protocol at all \x7f\n"sv, After::close);
}
net::Task<Done> hang(Session& session) {
  return session.wait_for_close();
}

net::Task<Done> short_body(Session& session) {
  session.out().append("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
  return raw(session, pattern(40), After::close);
}
net::Task<Done> long_body(Session& session) {
  session.out().append("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  return raw(session, pattern(20));
}
net::Task<Done> half_close(Session& session) {
  return raw(session, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\ngood\n", After::linger);
}
net::Task<Done> mid_chunk(Session& session) {
  return raw(session, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n0123456", After::close);
}
net::Task<Done> no_last_chunk(Session& session) {
  return raw(session, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ngood\n\r\n", After::close);
}
net::Task<Done> bad_chunk(Session& session) {
  return raw(session, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\ngood\n\r\n0\r\n\r\n", After::close);
}

net::Task<Done> slow_head(Session& session) {
  for (const char c : kGood) {
    session.out().append({&c, 1});
    const auto waited = co_await session.pause(20);
    if (!waited) co_return waited;
  }
  co_return Done{};
}

net::Task<Done> twice(Session& session) {
  session.out().append(kGood);
  return raw(session, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nbad\n");
}
net::Task<Done> head_then_hang(Session& session) {
  return raw_then_hang(session, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
}
net::Task<Done> stall(Session& session) {
  session.out().append("HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n");
  return raw_then_hang(session, pattern(1000));
}
net::Task<Done> stall_in_head(Session& session) {
  return raw_then_hang(session, "HTTP/1.1 200 OK\r\nContent-Le");
}

net::Task<Done> big_head(Session& session) {
  session.out().append("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n");
  const std::string fill(8000, 'x');
  for (int i = 0; i < 25; ++i) session.out().append("X-Fill-" + std::to_string(i) + ": " + fill + "\r\n");
  return raw(session, "\r\ngood\n");
}
net::Task<Done> bad_header(Session& session) {
  return raw(session, "HTTP/1.1 200 OK\r\nX-Bad: a\rSet-Cookie: b=c\r\nContent-Length: 5\r\n\r\ngood\n");
}
net::Task<Done> nul_header(Session& session) {
  using namespace std::string_view_literals;
  return raw(session, "HTTP/1.1 200 OK\r\nX-Bad: a\0b\r\nContent-Length: 5\r\n\r\ngood\n"sv);
}
net::Task<Done> bad_status(Session& session) {
  return raw(session, "HTTP/1.1 20 Hm\r\nContent-Length: 5\r\n\r\ngood\n");
}
net::Task<Done> two_lengths(Session& session) {
  return raw(session, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\ngood\n");
}
net::Task<Done> te_and_length(Session& session) {
  return raw(session,
             "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ngood\n\r\n0\r\n\r\n");
}
net::Task<Done> no_length_close(Session& session) {
  return raw(session, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\ngood\n", After::close);
}
net::Task<Done> interim_forever(Session& session) {
  for (int i = 0; i < 100; ++i) session.out().append("HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n");
  return raw(session, kGood);
}
net::Task<Done> no_content_with_body(Session& session) {
  return raw(session, "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\ngood\n");
}
net::Task<Done> not_modified_with_body(Session& session) {
  return raw(session, "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\ngood\n");
}

net::Task<Done> after_idle(Session& session) {
  session.out().append(kGood);
  const auto waited = co_await session.pause(1);
  session.then(After::close);
  co_return waited;
}

constexpr HttpFault kFaults[] = {
    {"reset", &reset},
    {"close", &close},
    {"short", &short_body},
    {"long", &long_body},
    {"garbage", &garbage},
    {"hang", &hang},
    {"half-close", &half_close},
    {"mid-chunk", &mid_chunk},
    {"no-last-chunk", &no_last_chunk},
    {"bad-chunk", &bad_chunk},
    {"slow-head", &slow_head},
    {"double", &twice},
    {"head-then-hang", &head_then_hang},
    {"stall", &stall},
    {"stall-in-head", &stall_in_head},
    {"big-head", &big_head},
    {"bad-header", &bad_header},
    {"nul-header", &nul_header},
    {"bad-status", &bad_status},
    {"two-lengths", &two_lengths},
    {"te-and-length", &te_and_length},
    {"no-length-close", &no_length_close},
    {"interim-forever", &interim_forever},
    {"204-with-body", &no_content_with_body},
    {"304-with-body", &not_modified_with_body},
    {"after-idle", &after_idle},
};

}  // namespace

std::span<const HttpFault> http_faults() noexcept {
  return kFaults;
}

}  // namespace pontage::origin
