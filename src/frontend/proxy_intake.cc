#include "src/frontend/proxy_intake.h"

#include <algorithm>
#include <array>

#include "src/observe/log.h"

namespace pontage::frontend {

using observe::Phase;

namespace {

// One look; a header that is longer takes several.
constexpr std::size_t kLook = 512;

net::Address address_of(proxy_protocol::Family family, const proxy_protocol::Endpoint& end) {
  const std::span<const unsigned char> ip(end.ip);
  if (family == proxy_protocol::Family::unix_path) {
    // A client without a name, or an abstract one, is a client of a unix socket all the same.
    const auto named = net::Address::from_unix(end.path);
    const sockaddr nameless{.sa_family = AF_UNIX, .sa_data = {}};
    return named ? *named : net::Address::from_raw(&nameless, sizeof nameless.sa_family);
  }
  return net::Address::from_bytes(family == proxy_protocol::Family::ipv4 ? ip.first(4) : ip, end.port);
}

}  // namespace

bool ProxyTrust::includes(const net::Address& peer) const noexcept {
  if (peer.is_unix()) return unix_sockets;
  return std::any_of(networks.begin(), networks.end(), [&](const auto& network) { return network.contains(peer); });
}

void believe(const proxy_protocol::Header& header, http::ConnectionInfo& connection) {
  if (header.family != proxy_protocol::Family::unspecified) {
    connection.peer = address_of(header.family, header.source);
    connection.peer_ip = connection.peer.ip_text();
    const net::Address local = address_of(header.family, header.destination);
    connection.local_ip = local.ip_text();
    connection.local_port = local.port();
  }
  if (!header.tls && header.authority.empty() && header.unique_id.empty()) return;
  auto told = std::make_shared<http::ProxyFacts>();
  told->authority = header.authority;
  told->unique_id = header.unique_id;
  if (header.tls) {
    told->tls = (header.tls->client & proxy_protocol::kClientTls) != 0;
    told->tls_client = header.tls->client;
    told->tls_verify = header.tls->verify;
    told->tls_version = header.tls->version;
    told->tls_cipher = header.tls->cipher;
    told->common_name = header.tls->common_name;
  }
  connection.told = std::move(told);
}

ProxyIntake::ProxyIntake(SessionHost& host, util::UniqueFd fd, http::ConnectionInfo connection, Front front)
    : host_(&host),
      stream_(std::make_unique<net::SocketStream>(host.reactor(), std::move(fd))),
      connection_(std::move(connection)),
      fiber_(host.reactor()),
      front_(std::move(front)) {
  connection_.protocol = kIntakeProtocol;
}

ProxyIntake::~ProxyIntake() = default;

void ProxyIntake::start() {
  net::launch(fiber_, run(), &ProxyIntake::on_done, this);
}

// The next one is in the list before this one leaves it, so that a draining host never looks empty meanwhile.
void ProxyIntake::on_done(void* self) noexcept {
  auto* session = static_cast<ProxyIntake*>(self);
  SessionHost& host = *session->host_;
  if (session->next_) host.begin(std::move(session->next_));
  host.remove(*session);
}

net::Task<void> ProxyIntake::run() {
  const auto patience = config::ms(host_->site()->config.client.head);
  const End end = co_await read_header(host_->reactor().after(patience));
  if (end != End::whole) {
    refuse(end);
    co_return;
  }
  const proxy_protocol::Header& header = decoder_.header();
  count(header.version == proxy_protocol::Version::v1 ? ProxyHeader::v1 : ProxyHeader::v2);
  http::ConnectionInfo connection = connection_;
  connection.protocol = kHttp1Name;
  believe(header, connection);
  next_ = make_first_session(*host_, stream_->release(), std::move(connection), front_);
}

// What is peeked at and belongs to the header is read; what follows it stays in the socket, for who comes next.
ProxyIntake::End ProxyIntake::take(std::string_view peeked) {
  const auto step = decoder_.decode(peeked);
  if (!step) {
    error_ = step.error();
    return End::refused;
  }
  std::array<char, kLook> known;
  const net::IoResult read = stream_->try_read(std::span(known).first(step->consumed));
  if (read.status != net::IoStatus::done || read.bytes != step->consumed) return End::aborted;
  return step->complete ? End::whole : End::not_yet;
}

net::Task<ProxyIntake::End> ProxyIntake::read_header(net::Deadline deadline) {
  for (;;) {
    std::array<char, kLook> room;
    const net::IoResult got = stream_->try_peek(room);
    if (got.status == net::IoStatus::done) {
      const End end = take({room.data(), got.bytes});
      if (end != End::not_yet) co_return end;
      continue;
    }
    if (got.status != net::IoStatus::want_read) co_return End::aborted;
    const net::WaitResult waited = co_await stream_->readable(deadline, Phase::client);
    if (waited == net::WaitResult::timeout) co_return End::timeout;
    if (waited != net::WaitResult::ready) co_return End::aborted;
  }
}

void ProxyIntake::refuse(End end) {
  if (end == End::aborted) return count(ProxyHeader::aborted);
  if (end == End::timeout) {
    count(ProxyHeader::timeout);
    observe::log::warn_limited("proxy-timeout", "{}: no whole PROXY header within client.head", connection_.peer_ip);
    return;
  }
  if (error_ == wire::DecodeError::bad_magic) {
    count(ProxyHeader::missing);
    observe::log::warn_limited("proxy-missing",
                               "{} is among the listener's trusted proxies, but does not begin with a PROXY header",
                               connection_.peer_ip);
    return;
  }
  count(ProxyHeader::malformed);
  observe::log::warn_limited("proxy-malformed", "{}: the PROXY header is refused: {}", connection_.peer_ip,
                             wire::to_string(error_));
}

void ProxyIntake::count(ProxyHeader result) noexcept {
  host_->metrics().add(host_->series().proxy_headers[static_cast<std::size_t>(result)]);
}

}  // namespace pontage::frontend
