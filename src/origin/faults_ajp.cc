#include "src/origin/faults_ajp.h"

#include <optional>
#include <string>

#include "protocols/ajp13/response_encoder.h"
#include "src/origin/ajp_session.h"
#include "src/origin/pattern.h"

namespace pontage::origin {
namespace {

using After = Session::After;
using ajp13::Reuse;
using message::BodyKind;
using namespace std::string_literals;
using namespace std::string_view_literals;

void put_head(AjpSession& session, int status, std::optional<std::uint64_t> length) {
  message::ResponseHead head;
  head.status = status;
  if (length) head.body = {BodyKind::exact, *length};
  session.out().encode([&](wire::Sink& sink) { (void)ajp13::encode_send_headers(sink, head, session.packet_size()); });
}
void put_chunk(AjpSession& session, std::string_view data) {
  session.out().encode([&](wire::Sink& sink) { ajp13::encode_body_chunk(sink, data); });
}
void put_end(AjpSession& session, Reuse reuse = Reuse::yes) {
  session.out().encode([&](wire::Sink& sink) { ajp13::encode_end_response(sink, reuse); });
}
void put_good(AjpSession& session) {
  put_head(session, 200, 5);
  put_chunk(session, "good\n");
}

net::Task<Done> nothing_more() {
  co_return Done{};
}

// The bytes as they are, after what was put before.
net::Task<Done> raw(AjpSession& session, std::string_view bytes, After after = After::keep) {
  session.out().append(bytes);
  if (after != After::keep) session.then(after);
  return nothing_more();
}

// A packet whose length is what its payload has; written by hand where the encoder would refuse to.
std::string packet(std::string_view payload) {
  std::string text = "AB";
  text.push_back(static_cast<char>(payload.size() >> 8));
  text.push_back(static_cast<char>(payload.size() & 0xff));
  text += payload;
  return text;
}
// SEND_HEADERS 200 with an empty reason, `count` and `fields` as given.
std::string head_packet(unsigned count, std::string_view fields) {
  std::string payload = "\x04\x00\xc8\x00\x00\x00\x00"s;
  payload.push_back(static_cast<char>(count));
  payload += fields;
  return packet(payload);
}

net::Task<Done> reset(AjpSession& session) {
  return raw(session, {}, After::abort);
}
net::Task<Done> close(AjpSession& session) {
  return raw(session, {}, After::close);
}
net::Task<Done> garbage(AjpSession& session) {
  return raw(session, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", After::close);
}
net::Task<Done> wrong_magic(AjpSession& session) {
  return raw(session, "\x12\x34\x00\x02\x05\x01"sv);
}
net::Task<Done> hang(AjpSession& session) {
  return session.wait_for_close();
}

net::Task<Done> short_body(AjpSession& session) {
  put_head(session, 200, 100);
  put_chunk(session, pattern(40));
  return raw(session, {}, After::close);
}
net::Task<Done> short_end(AjpSession& session) {
  put_head(session, 200, 100);
  put_chunk(session, pattern(40));
  put_end(session);
  co_return Done{};
}
net::Task<Done> long_body(AjpSession& session) {
  put_head(session, 200, 5);
  put_chunk(session, pattern(20));
  put_end(session);
  co_return Done{};
}
net::Task<Done> half_close(AjpSession& session) {
  put_good(session);
  put_end(session);
  return raw(session, {}, After::linger);
}
net::Task<Done> mid_chunk(AjpSession& session) {
  put_head(session, 200, 100);
  const auto header = ajp13::body_chunk_header(100);
  session.out().append({header.data(), header.size()});
  return raw(session, pattern(40), After::close);
}
net::Task<Done> slow_head(AjpSession& session) {
  put_good(session);
  put_end(session);
  const std::string bytes(session.out().view());
  session.out().clear();
  for (const char c : bytes) {
    session.out().append({&c, 1});
    const auto waited = co_await session.pause(20);
    if (!waited) co_return waited;
  }
  co_return Done{};
}
net::Task<Done> twice(AjpSession& session) {
  for (int i = 0; i < 2; ++i) {
    put_good(session);
    put_end(session);
  }
  co_return Done{};
}
net::Task<Done> two_heads(AjpSession& session) {
  put_head(session, 200, 5);
  put_good(session);
  put_end(session);
  co_return Done{};
}
net::Task<Done> head_then_hang(AjpSession& session) {
  put_head(session, 200, 100);
  return session.wait_for_close();
}
net::Task<Done> stall(AjpSession& session) {
  put_head(session, 200, 2000);
  put_chunk(session, pattern(1000));
  return session.wait_for_close();
}
net::Task<Done> no_end(AjpSession& session) {
  put_good(session);
  return session.wait_for_close();
}
// A length beyond any packet size but the largest (A1).
net::Task<Done> big_head(AjpSession& session) {
  return raw(session, "AB\xff\xff\x04\x00\xc8"s + std::string(9000, 'x'), After::linger);
}
net::Task<Done> bad_header(AjpSession& session) {
  session.out().append(head_packet(1, "\x00\x05X-Bad\x00\x00\x0fa\r\nSet-Cookie: \x00"sv));
  put_end(session);
  co_return Done{};
}
net::Task<Done> nul_header(AjpSession& session) {
  session.out().append(head_packet(1,
                                   "\x00\x05X-Bad\x00\x00\x03"
                                   "a\x00"
                                   "b\x00"sv));
  put_end(session);
  co_return Done{};
}
// One header more is announced than follows, and the next packet is there to be misread (A24).
net::Task<Done> misaligned(AjpSession& session) {
  session.out().append(head_packet(2, "\xa0\x01\x00\x0atext/plain\x00"sv));
  put_chunk(session, "good\n");
  put_end(session);
  co_return Done{};
}
net::Task<Done> two_lengths(AjpSession& session) {
  session.out().append(head_packet(2,
                                   "\xa0\x03\x00\x01"
                                   "5\x00\xa0\x03\x00\x01"
                                   "6\x00"sv));
  put_chunk(session, "good\n");
  put_end(session);
  co_return Done{};
}
net::Task<Done> bad_status(AjpSession& session) {
  session.out().append(packet("\x04\x00\x63\x00\x00\x00\x00\x00"sv));
  put_end(session);
  co_return Done{};
}
net::Task<Done> unknown_code(AjpSession& session) {
  return raw(session, packet("\x2a\x00\x01"sv));
}
net::Task<Done> stray_cpong(AjpSession& session) {
  session.out().encode([](wire::Sink& sink) { ajp13::encode_cpong(sink); });
  put_good(session);
  put_end(session);
  co_return Done{};
}
net::Task<Done> body_before_head(AjpSession& session) {
  put_chunk(session, "good\n");
  put_end(session);
  co_return Done{};
}
net::Task<Done> body_after_end(AjpSession& session) {
  put_good(session);
  put_end(session);
  put_chunk(session, "more\n");
  co_return Done{};
}
// The chunk's own length reaches beyond its packet (A23, CVE-2026-34059).
net::Task<Done> chunk_overrun(AjpSession& session) {
  put_head(session, 200, std::nullopt);
  session.out().append(packet("\x03\x1f\x40good\n\x00"sv));
  put_end(session);
  co_return Done{};
}
net::Task<Done> no_reuse(AjpSession& session) {
  put_good(session);
  put_end(session, Reuse::no);
  return session.wait_for_close();
}
net::Task<Done> no_content_with_body(AjpSession& session) {
  put_head(session, 204, std::nullopt);
  put_chunk(session, "good\n");
  put_end(session);
  co_return Done{};
}
net::Task<Done> not_modified_with_body(AjpSession& session) {
  put_head(session, 304, std::nullopt);
  put_chunk(session, "good\n");
  put_end(session);
  co_return Done{};
}
net::Task<Done> after_idle(AjpSession& session) {
  put_good(session);
  put_end(session);
  const auto waited = co_await session.pause(1);
  session.then(After::close);
  co_return waited;
}
// Legal, but at odd times: before the head, between chunks, before the end; also when nothing is left (A16, A17).
net::Task<Done> ask_body(AjpSession& session) {
  for (int step = 0; step < 3; ++step) {
    if (step == 1) put_head(session, 200, 5);
    if (step > 0) put_chunk(session, step == 1 ? "go" : "od\n");
    session.ask_body();
    const auto taken = co_await session.take_packet();
    if (!taken) co_return taken;
  }
  put_end(session);
  co_return Done{};
}

constexpr AjpFault kFaults[] = {
    {"reset", &reset},
    {"close", &close},
    {"garbage", &garbage},
    {"wrong-magic", &wrong_magic},
    {"hang", &hang},
    {"short", &short_body},
    {"short-end", &short_end},
    {"long", &long_body},
    {"half-close", &half_close},
    {"mid-chunk", &mid_chunk},
    {"slow-head", &slow_head},
    {"double", &twice},
    {"two-heads", &two_heads},
    {"head-then-hang", &head_then_hang},
    {"stall", &stall},
    {"no-end", &no_end},
    {"big-head", &big_head},
    {"bad-header", &bad_header},
    {"nul-header", &nul_header},
    {"misaligned", &misaligned},
    {"two-lengths", &two_lengths},
    {"bad-status", &bad_status},
    {"unknown-code", &unknown_code},
    {"cpong", &stray_cpong},
    {"body-before-head", &body_before_head},
    {"body-after-end", &body_after_end},
    {"chunk-overrun", &chunk_overrun},
    {"noreuse", &no_reuse},
    {"204-with-body", &no_content_with_body},
    {"304-with-body", &not_modified_with_body},
    {"after-idle", &after_idle},
    {"ask-body", &ask_body},
};

}  // namespace

std::span<const AjpFault> ajp_faults() noexcept {
  return kFaults;
}

}  // namespace pontage::origin
