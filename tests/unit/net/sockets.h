// Pairs of connected sockets for tests of streams: one end a SocketStream, the other a plain descriptor.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/net/acceptor.h"
#include "src/net/stream.h"

namespace pontage::net::testing {

struct Pair {
  util::UniqueFd near;  // non-blocking
  util::UniqueFd far;   // non-blocking
};

inline Pair make_pair() {
  int fds[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
  return {util::UniqueFd(fds[0]), util::UniqueFd(fds[1])};
}

// The same over TCP on loopback.
inline Pair make_tcp_pair() {
  int os_error = 0;
  const util::UniqueFd listener = listen_on(*Address::from_ip("127.0.0.1", 0), false, os_error);
  EXPECT_EQ(os_error, 0);
  const Address address = local_address(listener.get());
  util::UniqueFd far(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(far.get(), address.raw(), address.size()), 0);
  util::UniqueFd near;
  while (!near) near.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  return {std::move(near), std::move(far)};
}

inline void put(const util::UniqueFd& fd, std::string_view text) {
  EXPECT_EQ(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

// What is there now, without waiting.
inline std::string take(const util::UniqueFd& fd) {
  std::string all;
  char room[65536];
  for (ssize_t got = 0; (got = ::recv(fd.get(), room, sizeof room, MSG_DONTWAIT)) > 0;) {
    all.append(room, static_cast<std::size_t>(got));
  }
  return all;
}

}  // namespace pontage::net::testing
