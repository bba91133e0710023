// Opening connections: success, refusal, a listener that does not answer, unix sockets.
#include "src/net/connect.h"

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "src/net/socket_options.h"
#include "tests/unit/net/loop.h"
#include "tests/unit/net/sockets.h"

namespace pontage::net {
namespace {

using testing::Loop;
using testing::Side;
using testing::turns;
using util::ErrorKind;
using util::RetryClass;
using util::Source;

struct Outcome {
  bool connected = false;
  util::Error error;
  std::unique_ptr<ByteStream> stream;
};

Task<void> open(Reactor& reactor, Address address, Deadline deadline, Outcome& outcome) {
  auto opened = co_await connect(reactor, address, deadline);
  outcome.connected = opened.has_value();
  if (opened) {
    outcome.stream = std::move(*opened);
  } else {
    outcome.error = opened.error();
  }
}

// A listening or only bound socket on loopback.
util::UniqueFd bound(Address& address) {
  util::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const Address any = *Address::from_ip("127.0.0.1", 0);
  EXPECT_EQ(::bind(fd.get(), any.raw(), any.size()), 0);
  address = local_address(fd.get());
  return fd;
}

// A directory that goes with the test.
struct Directory {
  Directory() {
    std::string name = (std::filesystem::temp_directory_path() / "pontage-connect-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path = name;
  }
  ~Directory() { std::filesystem::remove_all(path); }
  std::string path;
};

TEST(Connect, GivesAStreamWithoutDelayThatCanBeProbed) {
  Loop loop;
  Address address;
  const auto listener = bound(address);
  ASSERT_EQ(::listen(listener.get(), 4), 0);
  Outcome outcome;
  loop.run(open(loop.reactor, address, loop.reactor.after(60'000), outcome));
  ASSERT_TRUE(outcome.connected);
  const auto option = [&](int level, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    ::getsockopt(outcome.stream->fd(), level, name, &value, &size);
    return value;
  };
  EXPECT_NE(option(IPPROTO_TCP, TCP_NODELAY), 0);
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 0);
  enable_keepalive_probes(outcome.stream->fd());
  EXPECT_NE(option(SOL_SOCKET, SO_KEEPALIVE), 0);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), 60);
}

TEST(Connect, TellsARefusalAndThatNothingWasSent) {
  Loop loop;
  Address address;
  const auto held = bound(address);  // bound, but nobody listens: the port cannot become somebody else's meanwhile
  Outcome outcome;
  loop.run(open(loop.reactor, address, loop.reactor.after(60'000), outcome));
  ASSERT_FALSE(outcome.connected);
  EXPECT_EQ(outcome.error.kind, ErrorKind::refused);
  EXPECT_EQ(outcome.error.source, Source::server);
  EXPECT_EQ(outcome.error.retry, RetryClass::not_sent);
  EXPECT_EQ(outcome.error.os_error, ECONNREFUSED);
}

// A listener whose queue is full drops what comes: nobody answers, as with a dead host.
class DeafListener {
 public:
  DeafListener() : listener_(bound(address)) {
    EXPECT_EQ(::listen(listener_.get(), 0), 0);
    for (int i = 0; i < 4; ++i) {
      fill_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      ::connect(fill_.back().get(), address.raw(), address.size());
    }
  }
  Address address;

 private:
  util::UniqueFd listener_;
  std::vector<util::UniqueFd> fill_;
};

TEST(Connect, GivesUpAtItsDeadline) {
  Loop loop;
  const DeafListener deaf;
  Outcome outcome;
  const Deadline deadline = loop.reactor.after(30);
  loop.run(open(loop.reactor, deaf.address, deadline, outcome));
  ASSERT_FALSE(outcome.connected);
  EXPECT_GE(loop.reactor.now_ms(), deadline);
  EXPECT_EQ(outcome.error.kind, ErrorKind::timeout);
  EXPECT_EQ(outcome.error.source, Source::server);
  EXPECT_EQ(outcome.error.retry, RetryClass::not_sent);
}

TEST(Connect, EndsWhenItsFiberIsCancelled) {
  Loop loop;
  const DeafListener deaf;
  Outcome outcome;
  auto scenario = [&]() -> Task<void> {
    Side side(loop.reactor);
    side.start(open(loop.reactor, deaf.address, loop.reactor.after(60'000), outcome));
    EXPECT_FALSE(side.ended);
    side.fiber.cancel();
    co_await turns(1);
    EXPECT_TRUE(side.ended);
  };
  loop.run(scenario());
  EXPECT_EQ(outcome.error.kind, ErrorKind::cancelled);
}

TEST(Connect, ReachesAUnixSocket) {
  const Directory directory;
  const Address address = *Address::from_unix(directory.path + "/s");
  int os_error = 0;
  const auto listener = listen_on(address, false, os_error);
  ASSERT_EQ(os_error, 0);
  Loop loop;
  Outcome outcome;
  loop.run(open(loop.reactor, address, loop.reactor.after(60'000), outcome));
  EXPECT_TRUE(outcome.connected);
}

TEST(Connect, AMissingUnixSocketIsARefusal) {
  const Directory directory;
  Loop loop;
  Outcome outcome;
  loop.run(open(loop.reactor, *Address::from_unix(directory.path + "/none"), loop.reactor.after(60'000), outcome));
  EXPECT_EQ(outcome.error.kind, ErrorKind::refused);
  EXPECT_EQ(outcome.error.os_error, ENOENT);
}

// A unix listener that takes one connection and no more until it accepts.
struct FullUnixListener {
  FullUnixListener() : address(*Address::from_unix(directory.path + "/s")) {
    listener.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener.get(), address.raw(), address.size()), 0);
    EXPECT_EQ(::listen(listener.get(), 0), 0);
    for (;;) {
      util::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      if (::connect(fd.get(), address.raw(), address.size()) != 0) break;
      fill.push_back(std::move(fd));
    }
  }
  Directory directory;
  Address address;
  util::UniqueFd listener;
  std::vector<util::UniqueFd> fill;
};

TEST(Connect, WaitsWhileTheQueueOfAUnixSocketIsFull) {
  FullUnixListener full;
  Loop loop;
  Outcome outcome;
  auto scenario = [&]() -> Task<void> {
    Side side(loop.reactor);
    side.start(open(loop.reactor, full.address, loop.reactor.after(60'000), outcome));
    co_await turns(2);
    EXPECT_FALSE(side.ended);
    const util::UniqueFd accepted(::accept(full.listener.get(), nullptr, nullptr));
    while (!side.ended) co_await Pause(loop.reactor.after(5));
  };
  loop.run(scenario());
  EXPECT_TRUE(outcome.connected);
}

TEST(Connect, AQueueThatStaysFullIsAnOverloadAndNoFaultOfTheServer) {
  const FullUnixListener full;
  Loop loop;
  Outcome outcome;
  loop.run(open(loop.reactor, full.address, loop.reactor.after(30), outcome));
  ASSERT_FALSE(outcome.connected);
  EXPECT_EQ(outcome.error.kind, ErrorKind::overload);
  EXPECT_EQ(outcome.error.source, Source::gateway);
  EXPECT_EQ(outcome.error.retry, RetryClass::not_sent);
}

}  // namespace
}  // namespace pontage::net
