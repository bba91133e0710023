#include "src/net/connect.h"

#include <cerrno>

#include <sys/socket.h>

#include "src/net/socket_options.h"

namespace pontage::net {
namespace {

using Stream = std::unique_ptr<ByteStream>;

util::Failure refused(int os_error) {
  const bool shed = os_error == EMFILE || os_error == ENFILE || os_error == ENOMEM || os_error == ENOBUFS;
  return util::Failure(util::Error{.kind = shed ? util::ErrorKind::overload : util::ErrorKind::refused,
                                   .source = shed ? util::Source::gateway : util::Source::server,
                                   .retry = util::RetryClass::not_sent,
                                   .os_error = os_error,
                                   .detail = "connect"});
}

util::Failure late(WaitResult waited) {
  util::Error error = wait_error(waited, util::Source::server, "connect");
  error.retry = util::RetryClass::not_sent;
  return util::Failure(error);
}

// On the loopback the handshake is over before connect() returns, whatever it says; then a turn of the reactor is
// saved.
bool is_connected(int fd) noexcept {
  sockaddr_storage peer;
  socklen_t size = sizeof peer;
  return ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
}

}  // namespace

Task<util::Result<Stream>> connect(Reactor& reactor, Address address, Deadline deadline) {
  for (;;) {
    util::UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) co_return refused(errno);
    if (!address.is_unix()) {
      send_without_delay(fd.get());
      if (address.is_loopback()) send_without_pacing(fd.get());
    }
    const int raw = fd.get();
    const int outcome = ::connect(raw, address.raw(), address.size());
    const int os_error = outcome == 0 ? 0 : errno;
    if (os_error == EAGAIN && address.is_unix()) {
      const Deadline soon = reactor.after(10);
      // Not down, but busy: the gateway's to answer with 503, and no reason to leave the server out.
      if (soon >= deadline) {
        co_return util::Failure(util::Error{.kind = util::ErrorKind::overload,
                                            .source = util::Source::gateway,
                                            .retry = util::RetryClass::not_sent,
                                            .os_error = EAGAIN,
                                            .detail = "the server's backlog is full"});
      }
      Pause pause(soon, observe::Phase::connect);
      const WaitResult paused = co_await pause;
      if (paused == WaitResult::cancelled) {
        co_return util::fail(util::ErrorKind::cancelled, util::Source::gateway, "connect");
      }
      continue;
    }
    if (os_error != 0 && os_error != EINPROGRESS) co_return refused(os_error);
    auto stream = std::make_unique<SocketStream>(reactor, std::move(fd));
    if (os_error == EINPROGRESS && !is_connected(raw)) {
      stream->expect_connect();
      const WaitResult waited = co_await stream->writable(deadline, observe::Phase::connect);
      if (waited != WaitResult::ready) co_return late(waited);
      int failure = 0;
      socklen_t size = sizeof failure;
      ::getsockopt(raw, SOL_SOCKET, SO_ERROR, &failure, &size);
      if (failure != 0) co_return refused(failure);
    }
    co_return Stream(std::move(stream));
  }
}

}  // namespace pontage::net
