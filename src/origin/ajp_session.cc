#include "src/origin/ajp_session.h"

#include "protocols/ajp13/response_encoder.h"
#include "protocols/message/status.h"
#include "src/origin/faults_ajp.h"

namespace pontage::origin {

using ajp13::RequestEvent;
using ajp13::Reuse;
using message::BodyKind;
using util::Source;

namespace {

constexpr wire::HeadLimits kPacketLimits{
    .request_line = 64 * 1024, .header = 64 * 1024, .headers = 64 * 1024, .header_count = 2000};

void list_attributes(Json& json, const ajp13::Attributes& attributes) {
  json.text("remote_addr", attributes.remote_addr);
  json.text("remote_host", attributes.remote_host);
  json.number("remote_port", attributes.remote_port);
  json.text("local_addr", attributes.local_addr);
  json.text("server_name", attributes.server_name);
  json.number("server_port", attributes.server_port);
  json.flag("is_tls", attributes.is_tls);
  json.text("context", attributes.context);
  json.text("remote_user", attributes.remote_user);
  json.text("auth_type", attributes.auth_type);
  json.text("route", attributes.route);
  json.flag("secret", !attributes.secret.empty());
  json.text("activation", attributes.activation);
  json.text("ssl_cert", attributes.ssl_cert);
  json.text("ssl_cipher", attributes.ssl_cipher);
  json.text("ssl_session", attributes.ssl_session);
  json.text("ssl_protocol", attributes.ssl_protocol);
  json.number("ssl_key_size", attributes.ssl_key_size);
  json.key("others");
  json.begin_array();
  for (const auto& other : attributes.others) {
    json.begin_array();
    json.text(other.name);
    json.text(other.value);
    json.end_array();
  }
  json.end_array();
}

}  // namespace

AjpSession::AjpSession(Worker& worker, util::UniqueFd fd, std::uint64_t number, const OriginOptions& options)
    : Session(worker, std::move(fd), number),
      options_(&options),
      packet_size_(ajp13::fit_packet_size(options.packet_size)),
      decoder_(packet_size_, kPacketLimits) {}

void AjpSession::describe(Json& json) const {
  json.key("attributes");
  json.begin_object();
  list_attributes(json, attributes_);
  json.end_object();
}

net::Task<util::Result<bool>> AjpSession::next_request() {
  for (;;) {
    while (!input_.empty()) {
      begin_work();
      const auto step = decoder_.decode(input_.view(), work_->arena, work_->head, attributes_);
      if (!step) {
        after_ = After::linger;  // as Tomcat: nothing is said to who does not speak the protocol
        co_return false;
      }
      input_.consume(step->consumed);
      if (step->event == RequestEvent::cping) work_->out.encode([](wire::Sink& sink) { ajp13::encode_cpong(sink); });
      if (step->event != RequestEvent::forward_request) continue;
      start_request();
      if (has_secret()) co_return true;
      refuse_secret();
      co_return false;
    }
    const auto filled = co_await fill(Idle::yes);
    if (!filled || !*filled) co_return filled;
  }
}

bool AjpSession::has_secret() const noexcept {
  return options_->secret.empty() || attributes_.secret == options_->secret;
}

void AjpSession::start_request() {
  message::RequestHead& head = work_->head;
  begun_ = silent_ = body_done_ = ended_ = false;
  reuse_ = Reuse::yes;
  if (head.body.kind != BodyKind::none) return;
  // Without a length only asking tells (A16); with a length of 0 there is nothing to ask for.
  body_done_ = head.headers.has(message::HeaderId::content_length);
  if (!body_done_) head.body.kind = BodyKind::chunked;
}

// As Tomcat does (A10).
void AjpSession::refuse_secret() {
  message::ResponseHead head;
  head.status = 403;
  head.headers = message::HeaderList(work_->arena);
  head.body = {BodyKind::exact, 0};
  begin(head);
  work_->out.encode([](wire::Sink& sink) { ajp13::encode_end_response(sink, Reuse::no); });
  after_ = After::linger;
}

void AjpSession::ask_body() {
  const auto room = static_cast<std::uint16_t>(ajp13::request_data_room(packet_size_));
  work_->out.encode([room](wire::Sink& sink) { ajp13::encode_get_body_chunk(sink, room); });
  decoder_.expect_body();
}

net::Task<util::Result<std::string_view>> AjpSession::read_body() {
  while (!body_done_) {
    if (!decoder_.awaiting_body()) {
      if (work_->head.body.kind == BodyKind::exact && decoder_.remaining_body() == 0) break;
      ask_body();
    }
    if (input_.empty()) {
      const auto more = co_await fill_more();
      if (!more) co_return util::Failure(more.error());
    }
    const auto step = decoder_.decode(input_.view(), work_->arena, work_->head, attributes_);
    if (!step) co_return util::fail_decode(step.error(), Source::client);
    input_.consume(step->consumed);
    if (step->event == RequestEvent::body) co_return step->data;
    if (step->event == RequestEvent::body_end) break;
  }
  body_done_ = true;
  co_return std::string_view{};
}

net::Task<Done> AjpSession::take_packet() {
  while (decoder_.awaiting_body()) {
    const auto piece = co_await read_body();
    if (!piece) co_return util::Failure(piece.error());
    if (body_done_) co_return Done{};
  }
  co_return Done{};
}

void AjpSession::begin(const message::ResponseHead& head) {
  begun_ = true;
  silent_ = work_->head.method == message::Method::head || message::forbids_body(head.status);
  if (head.persistence == message::Persistence::close) reuse_ = Reuse::no;
  bool fits = true;
  work_->out.encode([&](wire::Sink& sink) { fits = ajp13::encode_send_headers(sink, head, packet_size_).has_value(); });
  if (fits) return;
  // No packet can tell this head, so nothing is told: the gateway finds the connection ended.
  silent_ = ended_ = true;
  after_ = After::linger;
}

void AjpSession::write(std::string_view piece) {
  if (silent_) return;
  while (!piece.empty()) {
    const auto part = piece.substr(0, ajp13::response_data_room(packet_size_));
    const auto header = ajp13::body_chunk_header(part.size());
    work_->out.append({header.data(), header.size()});
    work_->out.append(part);
    work_->out.append({"", 1});
    piece.remove_prefix(part.size());
  }
}

net::Task<Done> AjpSession::send(std::string_view piece) {
  write(piece);
  if (work_->out.size() < kMuch) co_return Done{};
  co_return co_await send_out();
}

net::Task<Done> AjpSession::flush() {
  if (begun_) work_->out.encode([](wire::Sink& sink) { ajp13::encode_flush(sink); });
  return send_out();
}

net::Task<Done> AjpSession::finish() {
  // The first packet of a body comes unasked; it is taken before the end is told, as Tomcat does (A19).
  if (after_ == After::keep && decoder_.awaiting_body()) {
    const auto taken = co_await take_packet();
    if (!taken) co_return taken;
  }
  if (ended_) co_return Done{};  // in a way of its own
  const Reuse reuse = after_ == After::keep ? reuse_ : Reuse::no;
  work_->out.encode([reuse](wire::Sink& sink) { ajp13::encode_end_response(sink, reuse); });
  if (reuse == Reuse::no && after_ == After::keep) after_ = After::close;
  co_return Done{};
}

net::Task<util::Result<bool>> AjpSession::fault(std::string_view kind) {
  for (const AjpFault& known : ajp_faults()) {
    if (known.kind != kind) continue;
    const auto taken = co_await take_packet();
    if (!taken) co_return util::Failure(taken.error());
    ended_ = true;
    const auto done = co_await known.run(*this);
    if (!done) co_return util::Failure(done.error());
    co_return true;
  }
  co_return false;
}

void AjpSession::list_faults(Json& json) const {
  for (const AjpFault& known : ajp_faults()) json.text(known.kind);
}

}  // namespace pontage::origin
