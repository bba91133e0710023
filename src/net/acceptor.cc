#include "src/net/acceptor.h"

#include <cerrno>

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "src/net/socket_options.h"
#include "src/observe/log.h"

namespace pontage::net {
namespace {

constexpr int kBatch = 32;  // connections a turn, so that a storm does not starve those we have
constexpr int kBacklog = 4096;
constexpr std::uint64_t kPauseMs = 100;

}  // namespace

util::UniqueFd listen_on(const Address& address, bool share, int& os_error) {
  util::UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int one = 1;
  const int zero = 0;
  if (fd && !address.is_unix()) {
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (share) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
    if (address.family() == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    if (address.is_loopback()) send_without_pacing(fd.get());
  }
  if (!fd || ::bind(fd.get(), address.raw(), address.size()) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    os_error = errno;
    return {};
  }
  os_error = 0;
  return fd;
}

Address local_address(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size);
  return Address::from_raw(reinterpret_cast<const sockaddr*>(&storage), size);
}

Acceptor::Acceptor(Reactor& reactor, util::UniqueFd socket, Accepted accepted)
    : Timer(&Acceptor::on_timer), reactor_(&reactor), socket_(std::move(socket)), accepted_(std::move(accepted)) {
  reactor_->add(socket_.get(), EPOLLIN, *this);
}

Acceptor::~Acceptor() {
  reactor_->remove(socket_.get());
}

void Acceptor::on_events(std::uint32_t) noexcept {
  for (int i = 0; i < kBatch; ++i) {
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    const int fd = ::accept4(socket_.get(), reinterpret_cast<sockaddr*>(&storage), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) pause();
      return;  // EAGAIN, or a connection that died in the queue
    }
    if (storage.ss_family == AF_INET || storage.ss_family == AF_INET6) send_without_delay(fd);
    accepted_(util::UniqueFd(fd), Address::from_raw(reinterpret_cast<const sockaddr*>(&storage), size));
  }
}

void Acceptor::pause() noexcept {
  observe::log::warn_limited("accept", "cannot accept: {}; pausing for {} ms",
                             std::string_view(::strerrordesc_np(errno)), kPauseMs);
  reactor_->remove(socket_.get());
  reactor_->wheel().schedule(*this, reactor_->now_ms() + kPauseMs);
}

void Acceptor::on_timer(Timer& timer) noexcept {
  auto& self = static_cast<Acceptor&>(timer);
  self.reactor_->add(self.socket_.get(), EPOLLIN, self);
}

}  // namespace pontage::net
