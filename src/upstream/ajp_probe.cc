// AjpConnection's CPING, and what it says about servers that do not fit: hints, and the log's words for decode errors.
#include <array>

#include "protocols/ajp13/request_encoder.h"
#include "src/observe/log.h"
#include "src/upstream/ajp_connection.h"

namespace pontage::upstream {

using ajp13::ResponseEvent;
using config::ms;
using util::ErrorKind;
using util::Source;
using wire::DecodeError;

net::Task<bool> AjpConnection::probe() {
  if (settings_->timeouts.cping.count() == 0) co_return true;
  std::array<char, 8> bytes;
  wire::Sink sink(bytes);
  ajp13::encode_cping(sink);
  iovec piece{bytes.data(), sink.size()};
  const auto deadline = reactor().after(ms(settings_->timeouts.cping));
  const auto sent = co_await net::write_all(*stream_, {&piece, 1}, net::More::no, ms(settings_->timeouts.cping),
                                            observe::Phase::connect, Source::server);
  if (!sent) co_return false;
  decoder_.expect_cpong();
  message::Arena scratch;
  for (;;) {
    const auto got = co_await net::read_some(*stream_, bytes, deadline, observe::Phase::connect, Source::server);
    const std::string_view answer(bytes.data(), got ? *got : 0);
    const auto step = decoder_.decode(answer, scratch, message::Method::get, ignored_);
    if (answer.empty() || !step || step->consumed != answer.size()) {
      hint_at_no_cpong(answer, got);
      co_return false;
    }
    if (step->event == ResponseEvent::cpong) co_return true;
  }
}

void AjpConnection::log_decode_error(wire::DecodeError error) const noexcept {
  observe::log::warn_limited("ajp-decode", "backend {} server {}: AJP response refused: {}", server().backend(),
                             server().name(), wire::to_string(error));
  auto& hints = server().hints();
  if (error == DecodeError::packet_too_long) hints.note(Symptom::packet_larger, std::to_string(settings_->packet_size));
  if (error == DecodeError::bad_string) hints.note(Symptom::packet_overflow);
  const bool first = at_ == 0 && received_ == end_;
  if (error == DecodeError::bad_magic && first) hints.note(symptom_of_bytes({in_.data(), end_}), "AJP");
}

// A fresh connection that brought no CPONG: another protocol, or a server that has its fill of connections.
void AjpConnection::hint_at_no_cpong(std::string_view answer, const util::Result<std::size_t>& got) const noexcept {
  if (uses() > 0 || (!got && got.error().kind == ErrorKind::cancelled)) return;
  if (!answer.empty()) return server().hints().note(symptom_of_bytes(answer), "AJP");
  const auto pool = server().pool().gauges();
  const int others = pool.open - pool.idle - 1;
  const bool late = !got && got.error().kind == ErrorKind::timeout;
  if (!late || others <= 0 || 4 * others < settings_->pool.max) return server().hints().note(Symptom::no_cpong);
  server().hints().note(Symptom::pool_larger, std::to_string(others));
}

// How Tomcat refuses a secret, or an attribute: no application was asked (ADAPTERS A9, A10).
void AjpConnection::hint_at_refusal() const noexcept {
  if (status_ != 403 || keep_ || content_ > 0) return;
  server().hints().note(settings_->secret.empty() ? Symptom::secret_missing : Symptom::secret_wrong);
}

}  // namespace pontage::upstream
