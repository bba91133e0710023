#include "src/net/socket_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace pontage::net {

void send_without_delay(int fd) noexcept {
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

// "reno" is in every kernel, and allowed to every user.
void send_without_pacing(int fd) noexcept {
  static constexpr char kUnpaced[] = "reno";
  ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kUnpaced, sizeof kUnpaced - 1);
}

void enable_keepalive_probes(int fd) noexcept {
  const int one = 1;
  const int idle = 60;
  const int interval = 10;
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
}

}  // namespace pontage::net
