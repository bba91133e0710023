// Listening and accepting.
#include "src/net/acceptor.h"

#include <cerrno>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

#include "tests/unit/net/loop.h"
#include "tests/unit/net/sockets.h"

namespace pontage::net {
namespace {

using testing::Loop;
using testing::turns;

const Address kLoopback = *Address::from_ip("127.0.0.1", 0);

util::UniqueFd dial(const Address& address) {
  util::UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(fd.get(), address.raw(), address.size()), 0);
  return fd;
}

struct Accepted {
  util::UniqueFd fd;
  Address peer;
};

class AcceptorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int os_error = 0;
    auto socket = listen_on(kLoopback, false, os_error);
    ASSERT_EQ(os_error, 0);
    address = local_address(socket.get());
    acceptor = std::make_unique<Acceptor>(loop.reactor, std::move(socket), [this](util::UniqueFd fd, const Address& a) {
      accepted.push_back({std::move(fd), a});
    });
  }
  Task<void> until(std::size_t count) {
    while (accepted.size() < count) co_await Pause(loop.reactor.after(4));
  }

  Loop loop;
  Address address;
  std::vector<Accepted> accepted;
  std::unique_ptr<Acceptor> acceptor;
};

TEST_F(AcceptorTest, HandsUpNonBlockingDescriptorsWithTheirPeer) {
  const auto client = dial(address);
  loop.run(until(1));
  const Accepted& got = accepted.front();
  EXPECT_EQ(got.peer, local_address(client.get()));
  EXPECT_NE(::fcntl(got.fd.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(got.fd.get(), F_GETFD) & FD_CLOEXEC, 0);
  int no_delay = 0;
  socklen_t size = sizeof no_delay;
  ::getsockopt(got.fd.get(), IPPROTO_TCP, TCP_NODELAY, &no_delay, &size);
  EXPECT_NE(no_delay, 0);
}

// Pacing (BBR) costs timers, and inside one machine it is for nothing.
TEST_F(AcceptorTest, DoesNotPaceWhatALoopbackAddressAccepts) {
  const auto client = dial(address);
  loop.run(until(1));
  char control[16] = {};
  socklen_t size = sizeof control - 1;
  ASSERT_EQ(::getsockopt(accepted.front().fd.get(), IPPROTO_TCP, TCP_CONGESTION, control, &size), 0);
  EXPECT_STREQ(control, "reno");
}

TEST_F(AcceptorTest, TakesAStormOfManyBatches) {
  std::vector<util::UniqueFd> clients;
  for (int i = 0; i < 150; ++i) clients.push_back(dial(address));
  loop.run(until(150));
  EXPECT_EQ(accepted.size(), 150U);
}

TEST_F(AcceptorTest, AcceptsNothingAfterItWasDestroyed) {
  acceptor.reset();
  auto scenario = [&]() -> Task<void> {
    util::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), address.raw(), address.size()), -1);
    co_await turns(3);
  };
  loop.run(scenario());
  EXPECT_TRUE(accepted.empty());
}

TEST_F(AcceptorTest, PausesWithoutDescriptorsAndGoesOnWhenThereAreSome) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer needs descriptors of its own";
#endif
  const auto client = dial(address);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = ::dup(0);
  ::close(lowest_free);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(lowest_free);
  auto scenario = [&]() -> Task<void> {
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    co_await Pause(loop.reactor.after(10));
    const bool none_accepted = accepted.empty();
    int turns_made = 0;
    loop.reactor.on_turn([&](util::Cycles) { ++turns_made; });
    co_await Pause(loop.reactor.after(40));
    EXPECT_LT(turns_made, 30) << "it must not spin";
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_TRUE(none_accepted);
    co_await until(1);
  };
  loop.run(scenario());
  EXPECT_EQ(accepted.size(), 1U);
}

TEST(ListenOn, TellsWhyItCannot) {
  int os_error = 0;
  const auto first = listen_on(kLoopback, false, os_error);
  ASSERT_TRUE(first);
  const auto second = listen_on(local_address(first.get()), false, os_error);
  EXPECT_FALSE(second);
  EXPECT_EQ(os_error, EADDRINUSE);
}

TEST(ListenOn, SharesAnAddressOnlyWithThoseWhoShare) {
  int os_error = 0;
  const auto first = listen_on(kLoopback, true, os_error);
  ASSERT_TRUE(first);
  const Address address = local_address(first.get());
  EXPECT_NE(address.port(), 0);
  EXPECT_TRUE(listen_on(address, true, os_error));
  EXPECT_FALSE(listen_on(address, false, os_error));
}

TEST(ListenOn, TheWildcardTakesBothFamilies) {
  int os_error = 0;
  const auto listener = listen_on(*Address::from_bind(":0"), false, os_error);
  if (!listener && os_error == EAFNOSUPPORT) GTEST_SKIP() << "no IPv6 here";
  ASSERT_TRUE(listener);
  const std::uint16_t port = local_address(listener.get()).port();
  const auto v4 = dial(*Address::from_ip("127.0.0.1", port));
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  util::UniqueFd accepted;
  while (!accepted) accepted.reset(::accept(listener.get(), reinterpret_cast<sockaddr*>(&peer), &size));
  EXPECT_EQ(Address::from_raw(reinterpret_cast<sockaddr*>(&peer), size).ip_text(), "127.0.0.1");
}

}  // namespace
}  // namespace pontage::net
