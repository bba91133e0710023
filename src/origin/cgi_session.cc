#include "src/origin/cgi_session.h"

#include "protocols/message/status.h"
#include "src/origin/faults_cgi.h"

namespace pontage::origin {

using message::BodyKind;
using util::Source;

namespace {

const CgiFault* find_fault(std::span<const CgiFault> faults, std::string_view kind) noexcept {
  for (const CgiFault& known : faults) {
    if (known.kind == kind) return &known;
  }
  return nullptr;
}

}  // namespace

void CgiSession::describe(Json& json) const {
  json.key("variables");
  json.begin_object();
  for (const auto& variable : variables_) json.text(variable.name, variable.value);
  json.end_object();
}

net::Task<util::Result<bool>> CgiSession::next_request() {
  for (;;) {
    while (!input_.empty()) {
      begin_work();
      const auto step = decode(input_.view());
      // As application servers do: nothing is said to who does not speak the protocol.
      const bool wrong = !step || step->event == cgi::RequestEvent::aborted;
      if (wrong) after_ = After::linger;
      if (wrong) co_return false;
      input_.consume(step->consumed);
      if (step->event == cgi::RequestEvent::need_more) continue;
      if (start_request()) co_return true;
      after_ = After::linger;
      co_return false;
    }
    const auto filled = co_await fill(Idle::yes);
    if (!filled || !*filled) co_return filled;
  }
}

bool CgiSession::start_request() {
  silent_ = body_done_ = ended_ = false;
  message::RequestHead& head = work_->head;
  if (cgi::read_request_head(variables_, kLimits, work_->arena, head)) return false;
  // Without a length only FastCGI's own end tells (SCGI and uwsgi have no body then, which reading finds out).
  if (variables_.find("CONTENT_LENGTH") == nullptr) head.body.kind = BodyKind::chunked;
  return true;
}

net::Task<util::Result<std::string_view>> CgiSession::read_body() {
  while (!body_done_) {
    const auto step = decode(input_.view());
    if (!step) co_return util::fail_decode(step.error(), Source::client);
    input_.consume(step->consumed);
    if (step->event == cgi::RequestEvent::body) co_return step->data;
    if (step->event == cgi::RequestEvent::aborted) {
      co_return util::fail(util::ErrorKind::closed, Source::client, "request aborted");
    }
    body_done_ = step->event == cgi::RequestEvent::end;
    if (body_done_) break;
    const auto more = co_await fill_more();
    if (!more) co_return util::Failure(more.error());
  }
  co_return std::string_view{};
}

void CgiSession::begin(const message::ResponseHead& head) {
  if (head.persistence == message::Persistence::close) after_ = After::close;
  const auto room = work_->arena.chars(cgi::response_head_room(head));
  wire::Sink sink(room);
  cgi::encode_response_head(sink, head, status_style());
  put(sink.view());
  silent_ = work_->head.method == message::Method::head || message::forbids_body(head.status);
}

void CgiSession::put(std::string_view output) {
  while (!output.empty()) {
    const auto part = wrap(output);
    work_->out.append(part);
  }
}

void CgiSession::write(std::string_view piece) {
  if (!silent_) put(piece);
}

net::Task<Done> CgiSession::send(std::string_view piece) {
  if (silent_ || piece.empty()) co_return Done{};
  if (piece.size() < kWorthNoCopy) {
    put(piece);
    if (work_->out.size() < kMuch) co_return Done{};
    co_return co_await send_out();
  }
  while (!piece.empty()) {
    const auto part = wrap(piece);
    const auto sent = co_await send_out(part);
    if (!sent) co_return sent;
  }
  co_return Done{};
}

net::Task<Done> CgiSession::finish() {
  if (!ended_) put_end();
  if (after_ == After::keep && !keeps()) after_ = After::close;
  if (after_ == After::close && !body_done_) after_ = After::linger;
  if (after_ != After::keep || body_done_) co_return Done{};
  co_return co_await drain_body();
}

net::Task<util::Result<bool>> CgiSession::fault(std::string_view kind) {
  const CgiFault* known = find_fault(cgi_faults(), kind);
  if (known == nullptr) known = find_fault(more_faults(), kind);
  if (known == nullptr) co_return false;
  const auto drained = co_await drain_body();
  if (!drained) co_return util::Failure(drained.error());
  ended_ = true;
  const auto done = co_await known->run(*this);
  if (!done) co_return util::Failure(done.error());
  co_return true;
}

void CgiSession::list_faults(Json& json) const {
  for (const auto faults : {cgi_faults(), more_faults()}) {
    for (const CgiFault& known : faults) json.text(known.kind);
  }
}

}  // namespace pontage::origin
