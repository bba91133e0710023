#include "src/origin/faults_cgi.h"

#include <string>

#include "src/origin/cgi_session.h"
#include "src/origin/pattern.h"

namespace pontage::origin {
namespace {

using After = Session::After;
using namespace std::string_literals;
using namespace std::string_view_literals;

constexpr std::string_view kGood = "Status: 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\ngood\n";

net::Task<Done> nothing_more() {
  co_return Done{};
}

// An answer of these bytes, with the end that the protocol has.
net::Task<Done> answer(CgiSession& session, std::string_view output, After after = After::keep) {
  session.put(output);
  session.put_end();
  if (after != After::keep) session.then(after);
  return nothing_more();
}
// The bytes without such an end.
net::Task<Done> then(CgiSession& session, std::string_view output, After after) {
  session.put(output);
  session.then(after);
  return nothing_more();
}
net::Task<Done> then_hang(CgiSession& session, std::string_view output) {
  session.put(output);
  return session.wait_for_close();
}

net::Task<Done> reset(CgiSession& session) {
  return then(session, {}, After::abort);
}
net::Task<Done> close(CgiSession& session) {
  return then(session, {}, After::close);
}
net::Task<Done> garbage(CgiSession& session) {
  session.out().append("\x16\x03\x01\0\xff\xfe no protocol at all \x7f\n\n"sv);
  session.then(After::close);
  return nothing_more();
}
net::Task<Done> hang(CgiSession& session) {
  return session.wait_for_close();
}
net::Task<Done> no_head(CgiSession& session) {
  return answer(session, {});
}
net::Task<Done> short_body(CgiSession& session) {
  session.put("Content-Type: text/plain\r\nContent-Length: 100\r\n\r\n");
  return answer(session, pattern(40));
}
net::Task<Done> short_close(CgiSession& session) {
  session.put("Content-Type: text/plain\r\nContent-Length: 100\r\n\r\n");
  return then(session, pattern(40), After::close);
}
net::Task<Done> short_reset(CgiSession& session) {
  session.put("Content-Type: text/plain\r\n\r\n");
  session.put(pattern(40));
  const auto sent = co_await session.pause(1);
  session.then(After::abort);
  co_return sent;
}
net::Task<Done> long_body(CgiSession& session) {
  session.put("Content-Type: text/plain\r\nContent-Length: 5\r\n\r\n");
  return answer(session, pattern(20));
}
net::Task<Done> half_close(CgiSession& session) {
  return answer(session, kGood, After::linger);
}
net::Task<Done> slow_head(CgiSession& session) {
  for (const char c : kGood) {
    session.put({&c, 1});
    const auto waited = co_await session.pause(5);
    if (!waited) co_return waited;
  }
  session.put_end();
  co_return Done{};
}
net::Task<Done> twice(CgiSession& session) {
  session.put(kGood);
  return answer(session, kGood);
}
net::Task<Done> head_then_hang(CgiSession& session) {
  return then_hang(session, "Content-Type: text/plain\r\nContent-Length: 100\r\n\r\n");
}
net::Task<Done> stall(CgiSession& session) {
  session.put("Content-Type: text/plain\r\n\r\n");
  return then_hang(session, pattern(1000));
}
net::Task<Done> stall_in_head(CgiSession& session) {
  return then_hang(session, "Content-Ty");
}
net::Task<Done> cut_in_head(CgiSession& session) {
  return then(session, "Content-Type: text/plain\r\nX-", After::close);
}
net::Task<Done> no_end(CgiSession& session) {
  return then_hang(session, kGood);
}
net::Task<Done> big_head(CgiSession& session) {
  const std::string fill(8000, 'x');
  session.put("Content-Type: text/plain\r\n");
  for (int i = 0; i < 25; ++i) session.put("X-Fill-" + std::to_string(i) + ": " + fill + "\r\n");
  return answer(session, "\r\ngood\n");
}
net::Task<Done> bad_header(CgiSession& session) {
  return answer(session, "Content-Type: text/plain\r\nX-Bad: a\rSet-Cookie: b=c\r\n\r\ngood\n");
}
net::Task<Done> nul_header(CgiSession& session) {
  return answer(session, "Content-Type: text/plain\r\nX-Bad: a\0b\r\n\r\ngood\n"sv);
}
net::Task<Done> no_fields(CgiSession& session) {
  return answer(session, "\r\n<html>\r\n");
}
net::Task<Done> bad_status(CgiSession& session) {
  return answer(session, "Status: 20\r\nContent-Type: text/plain\r\n\r\ngood\n");
}
net::Task<Done> interim_status(CgiSession& session) {
  return answer(session, "Status: 100 Continue\r\n\r\n");
}
net::Task<Done> two_lengths(CgiSession& session) {
  return answer(session, "Content-Type: text/plain\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\ngood\n");
}
net::Task<Done> no_content_with_body(CgiSession& session) {
  return answer(session, "Status: 204\r\n\r\ngood\n");
}
net::Task<Done> not_modified_with_body(CgiSession& session) {
  return answer(session, "Status: 304\r\nContent-Length: 5\r\n\r\ngood\n");
}
net::Task<Done> after_idle(CgiSession& session) {
  session.put(kGood);
  session.put_end();
  const auto waited = co_await session.pause(1);
  session.then(After::close);
  co_return waited;
}

constexpr CgiFault kFaults[] = {
    {"reset", &reset},
    {"close", &close},
    {"garbage", &garbage},
    {"hang", &hang},
    {"no-head", &no_head},
    {"short", &short_body},
    {"short-close", &short_close},
    {"short-reset", &short_reset},
    {"long", &long_body},
    {"half-close", &half_close},
    {"slow-head", &slow_head},
    {"double", &twice},
    {"head-then-hang", &head_then_hang},
    {"stall", &stall},
    {"stall-in-head", &stall_in_head},
    {"cut-in-head", &cut_in_head},
    {"no-end", &no_end},
    {"big-head", &big_head},
    {"bad-header", &bad_header},
    {"nul-header", &nul_header},
    {"no-fields", &no_fields},
    {"bad-status", &bad_status},
    {"interim-status", &interim_status},
    {"two-lengths", &two_lengths},
    {"204-with-body", &no_content_with_body},
    {"304-with-body", &not_modified_with_body},
    {"after-idle", &after_idle},
};

}  // namespace

std::span<const CgiFault> cgi_faults() noexcept {
  return kFaults;
}

}  // namespace pontage::origin
