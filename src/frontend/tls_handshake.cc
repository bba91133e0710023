#include "src/frontend/tls_handshake.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "src/frontend/make_session.h"
#include "src/observe/log.h"

namespace pontage::frontend {

using observe::Phase;
using util::ErrorKind;
using util::Source;

namespace {

constexpr std::uint64_t kExplainMs = 2000;
constexpr std::size_t kMostIgnored = 64 * 1024;
constexpr std::string_view kPlainHttp =
    "HTTP/1.1 400 Bad Request\r\nServer: pontage\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 47\r\n"
    "Connection: close\r\n\r\nThis port speaks HTTPS: ask for a https:// URL.";

// The protocol as one of our own texts; a client that asked for none speaks HTTP/1.1.
std::string_view agreed(std::string_view alpn) {
  const auto* known = std::find(std::begin(config::kAlpnProtocols), std::end(config::kAlpnProtocols), alpn);
  return known != std::end(config::kAlpnProtocols) ? *known : std::string_view("http/1.1");
}

}  // namespace

TlsHandshake::TlsHandshake(SessionHost& host, std::unique_ptr<net::TlsStream> stream, http::ConnectionInfo connection,
                           SessionRules rules, std::uint64_t patience_ms)
    : host_(&host),
      stream_(std::move(stream)),
      connection_(std::move(connection)),
      fiber_(host.reactor()),
      rules_(rules),
      patience_ms_(patience_ms) {
  connection_.protocol = kHandshakeProtocol;
}

TlsHandshake::~TlsHandshake() = default;

void TlsHandshake::start() {
  net::launch(fiber_, run(), &TlsHandshake::on_done, this);
}

// The next one is in the list before this one leaves it, so that a draining host never looks empty meanwhile.
void TlsHandshake::on_done(void* self) noexcept {
  auto* session = static_cast<TlsHandshake*>(self);
  SessionHost& host = *session->host_;
  if (session->next_) host.begin(std::move(session->next_));
  host.remove(*session);
}

net::Task<void> TlsHandshake::run() {
  const auto shaken = co_await stream_->handshake(host_->reactor().after(patience_ms_), Phase::client, Source::client);
  if (!shaken && stream_->met_plain_http()) {
    count(Handshake::plain_http);
    co_await answer_plain_http();
    co_return;
  }
  if (!shaken) {
    note_failure(shaken.error());
    co_return;
  }
  count(stream_->resumed() ? Handshake::resumed : Handshake::full);
  http::ConnectionInfo connection = connection_;
  connection.tls = stream_->facts();
  connection.protocol = agreed(stream_->protocol());
  next_ = make_session(*host_, std::move(stream_), std::move(connection), rules_);
}

void TlsHandshake::count(Handshake result) noexcept {
  host_->metrics().add(host_->series().handshakes[static_cast<std::size_t>(result)]);
}

void TlsHandshake::note_failure(const util::Error& error) {
  switch (error.kind) {
    case ErrorKind::timeout: return count(Handshake::timeout);
    case ErrorKind::cancelled:
    case ErrorKind::closed:
    case ErrorKind::reset: return count(Handshake::aborted);
    default: break;
  }
  count(Handshake::failed);
  observe::log::warn_limited("tls-handshake", "the TLS handshake of {} failed: {}", connection_.peer_ip, error.detail);
}

// What the client sent is read before the close, which would destroy the answer on its way otherwise.
net::Task<void> TlsHandshake::answer_plain_http() {
  net::Reactor& reactor = host_->reactor();
  net::SocketStream clear(reactor, stream_->release());
  iovec answer{const_cast<char*>(kPlainHttp.data()), kPlainHttp.size()};
  const auto sent =
      co_await net::write_all(clear, {&answer, 1}, net::More::no, kExplainMs, Phase::client, Source::client);
  if (!sent) co_return;
  clear.shutdown_write();
  const net::Deadline deadline = reactor.after(kExplainMs);
  std::array<char, 4096> ignored;
  for (std::size_t total = 0; total < kMostIgnored;) {
    const auto got = co_await net::read_some(clear, ignored, deadline, Phase::client, Source::client);
    if (!got || *got == 0) co_return;
    total += *got;
  }
}

}  // namespace pontage::frontend
