#include "src/origin/http_session.h"

#include "protocols/http1/encoder.h"
#include "protocols/message/status.h"
#include "src/origin/faults_http.h"

namespace pontage::origin {

using message::BodyKind;
using message::Persistence;
using util::Source;

HttpSession::HttpSession(Worker& worker, util::UniqueFd fd, std::uint64_t number)
    : Session(worker, std::move(fd), number), decoder_(kLimits) {}

net::Task<util::Result<bool>> HttpSession::next_request() {
  for (;;) {
    if (!input_.empty()) {
      begin_work();
      const auto step = decoder_.decode(input_.view(), work_->arena, work_->head);
      if (!step) {
        refuse(step.error());
        co_return false;
      }
      input_.consume(step->consumed);
      if (step->event == http1::HeadEvent::head) {
        start_request();
        co_return true;
      }
    }
    const auto filled = co_await fill(Idle::yes);
    if (!filled || !*filled) co_return filled;
  }
}

void HttpSession::start_request() {
  body_.start(work_->head.body, kLimits, work_->arena);
  trailers_ = message::HeaderList(work_->arena);
  framing_ = BodyKind::none;
  silent_ = false;
  invited_ = !work_->head.expect_continue;
  if (work_->head.persistence == Persistence::close) after_ = After::close;
}

void HttpSession::refuse(wire::DecodeError error) {
  const auto reason = wire::to_string(error);
  work_->out.encode([&](wire::Sink& sink) {
    http1::encode_status_line(sink, message::kHttp11, 400);
    http1::encode_framing(sink, {BodyKind::exact, reason.size()});
    http1::encode_field(sink, "Content-Type", "text/plain");
    http1::encode_field(sink, "Connection", "close");
    http1::encode_end_of_head(sink);
    sink.append(reason);
  });
  after_ = After::linger;
}

void HttpSession::invite_body() {
  if (invited_) return;
  invited_ = true;
  if (input_.empty() && !body_.done()) interim(100, {});
}

net::Task<util::Result<std::string_view>> HttpSession::read_body() {
  invite_body();
  for (;;) {
    if (body_.done()) co_return std::string_view{};
    const auto step = body_.decode(input_.view());
    if (!step) co_return util::fail_decode(step.error(), Source::client);
    input_.consume(step->consumed);
    if (step->event == http1::BodyEvent::data) co_return step->data;
    if (step->event == http1::BodyEvent::end) co_return std::string_view{};
    const auto more = co_await fill_more();
    if (!more) co_return util::Failure(more.error());
  }
}

void HttpSession::interim(int status, std::string_view fields) {
  if (work_->head.version == message::kHttp10) return;
  work_->out.encode([&](wire::Sink& sink) {
    http1::encode_status_line(sink, message::kHttp11, status);
    sink.append(fields);
    http1::encode_end_of_head(sink);
  });
}

void HttpSession::begin(const message::ResponseHead& head) {
  message::BodyFraming body = head.body;
  const bool http10 = work_->head.version == message::kHttp10;
  if (http10 && body.kind == BodyKind::chunked) body.kind = BodyKind::until_close;
  framing_ = body.kind;
  silent_ = work_->head.method == message::Method::head || message::forbids_body(head.status);
  if (head.persistence == Persistence::close || (framing_ == BodyKind::until_close && !silent_)) after_ = After::close;
  // A client that was never told to continue may or may not send its body now: there is no next request to find.
  if (!invited_ && !body_.done()) after_ = After::linger;
  work_->out.encode([&](wire::Sink& sink) {
    http1::encode_status_line(sink, message::kHttp11, head.status);
    for (const auto& field : head.headers) http1::encode_field(sink, field.name, field.value);
    http1::encode_framing(sink, body);
    if (after_ != After::keep) {
      http1::encode_field(sink, "Connection", "close");
    } else if (http10) {
      http1::encode_field(sink, "Connection", "keep-alive");
    }
    http1::encode_end_of_head(sink);
  });
}

void HttpSession::write(std::string_view piece) {
  if (silent_ || piece.empty()) return;
  if (framing_ != BodyKind::chunked) {
    work_->out.append(piece);
    return;
  }
  work_->out.encode([&](wire::Sink& sink) { http1::encode_chunk_start(sink, piece.size()); });
  work_->out.append(piece);
  work_->out.append("\r\n");
}

net::Task<Done> HttpSession::send(std::string_view piece) {
  if (silent_ || piece.empty()) co_return Done{};
  if (piece.size() < kWorthNoCopy) {
    write(piece);
    if (work_->out.size() < kMuch) co_return Done{};
    co_return co_await send_out();
  }
  const bool chunked = framing_ == BodyKind::chunked;
  if (chunked) work_->out.encode([&](wire::Sink& sink) { http1::encode_chunk_start(sink, piece.size()); });
  const auto sent = co_await send_out(piece);
  if (chunked) work_->out.append("\r\n");
  co_return sent;
}

net::Task<Done> HttpSession::finish() {
  if (framing_ == BodyKind::chunked && !silent_) {
    work_->out.encode([&](wire::Sink& sink) { http1::encode_last_chunk(sink, trailers_); });
  }
  if (after_ == After::close && !body_.done()) after_ = After::linger;
  if (after_ != After::keep || body_.done()) co_return Done{};
  const auto drained = co_await drain_body();
  if (!drained && drained.error().kind == util::ErrorKind::protocol) after_ = After::linger;
  co_return after_ == After::keep ? drained : Done{};
}

net::Task<util::Result<bool>> HttpSession::fault(std::string_view kind) {
  for (const HttpFault& known : http_faults()) {
    if (known.kind != kind) continue;
    // All of it, or closing would reset the connection under the answer.
    const auto drained = co_await drain_body();
    if (!drained) co_return util::Failure(drained.error());
    const auto done = co_await known.run(*this);
    if (!done) co_return util::Failure(done.error());
    co_return true;
  }
  co_return false;
}

void HttpSession::list_faults(Json& json) const {
  for (const HttpFault& known : http_faults()) json.text(known.kind);
}

}  // namespace pontage::origin
