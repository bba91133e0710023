// A listening socket in one worker's reactor: accepts in batches and hands descriptors up. Out of descriptors it pauses
// for a moment instead of spinning, and says so once. Owned by the worker; its thread only.
#pragma once

#include <functional>

#include "src/net/address.h"
#include "src/net/fiber.h"
#include "src/net/reactor.h"
#include "src/util/unique_fd.h"

namespace pontage::net {

// Binds and listens. With `share`, SO_REUSEPORT is set so that each worker has a socket of its own. What a loopback
// address accepts is not paced. `os_error` in the failure.
util::UniqueFd listen_on(const Address& address, bool share, int& os_error);
// The address a socket is bound to (the real port after binding port 0).
Address local_address(int fd);

class Acceptor final : private EventTarget, private Timer {
 public:
  // `accepted(fd, peer)` takes a non-blocking descriptor; it must not throw.
  using Accepted = std::function<void(util::UniqueFd, const Address&)>;

  Acceptor(Reactor& reactor, util::UniqueFd socket, Accepted accepted);
  ~Acceptor();
  int fd() const noexcept { return socket_.get(); }

 private:
  void on_events(std::uint32_t events) noexcept override;
  static void on_timer(Timer& timer) noexcept;
  void pause() noexcept;

  Reactor* reactor_;
  util::UniqueFd socket_;
  Accepted accepted_;
};

}  // namespace pontage::net
