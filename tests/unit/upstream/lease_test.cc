// Leasing connections to a real listener, and exchanges with the reference application server.
#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "src/http/forwarding.h"
#include "src/net/acceptor.h"
#include "src/origin/origin.h"
#include "tests/unit/upstream/bench.h"

namespace pontage::upstream {
namespace {

using net::Task;
using net::testing::Side;
using net::testing::turns;
using testing::Bench;
using util::ErrorKind;
using util::RetryClass;
using util::Source;

// One request on its way to the server.
class Request {
 public:
  Request(Bench& bench, std::string_view path) : side(bench.reactor()), exchange(bench.reactor()), bench_(&bench) {
    connection_.peer_ip = connection_.local_ip = "127.0.0.1";
    exchange.fiber = &side.fiber;
    exchange.metrics = &bench.counters();
    exchange.connection = &connection_;
    exchange.request.method = message::Method::get;
    exchange.request.method_text = "GET";
    exchange.request.authority = "a";
    exchange.request.headers = message::HeaderList(exchange.arena);
    exchange.request.target = *message::parse_target(exchange.arena.copy(path), message::Method::get);
    exchange.forward_path = exchange.request.target.raw_path;
    const http::ForwardingPolicy policy;
    http::identify_client(exchange, policy);
    http::make_forward_headers(exchange, policy);
  }
  // Takes a lease and keeps it.
  void lease(LeaseKind kind = LeaseKind::any) { side.start(take(kind)); }
  // Leases, asks and reads the answer to its end.
  void ask() { side.start(round_trip()); }

  Side side;
  http::Exchange exchange;
  Lease held;
  util::Error error;
  int status = 0;
  std::string body;

 private:
  Task<void> take(LeaseKind kind) {
    auto leased = co_await bench_->server().lease(exchange, kind);
    if (leased) {
      held = std::move(*leased);
    } else {
      error = leased.error();
    }
  }
  Task<void> round_trip() {
    co_await take(LeaseKind::any);
    if (!held) co_return;
    auto answered = co_await held->round_trip(exchange);
    if (!answered) {
      error = answered.error();
      held.discard();
      co_return;
    }
    held.release();
    status = answered->head.status;
    http::BodyBatch batch;
    while (answered->body != nullptr && batch.last == http::Last::no) {
      batch.clear();
      const auto pulled = co_await answered->body->pull(batch, 65536, http::Patience::wait);
      if (!pulled) {
        error = pulled.error();
        break;
      }
      for (const auto& piece : batch.view()) body += piece.memory;
    }
  }
  Bench* bench_;
  http::ConnectionInfo connection_;
};

util::UniqueFd bound(net::Address& address, int backlog) {
  util::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const net::Address any = *net::Address::from_ip("127.0.0.1", 0);
  EXPECT_EQ(::bind(fd.get(), any.raw(), any.size()), 0);
  if (backlog >= 0) {
    EXPECT_EQ(::listen(fd.get(), backlog), 0);
  }
  address = net::local_address(fd.get());
  return fd;
}

Task<void> until_ended(const Request& request) {
  while (!request.side.ended) {
    net::Pause pause(request.exchange.reactor().after(4));
    co_await pause;
  }
}

TEST(Lease, WithoutAnAddressTheNameIsUnresolvedAndThePlaceIsFree) {
  Bench bench({.max = 1});
  Request request(bench, "/");
  auto scenario = [&]() -> Task<void> {
    request.lease();
    co_await until_ended(request);
  };
  bench.run(scenario());
  EXPECT_EQ(request.error.kind, ErrorKind::unresolved);
  EXPECT_EQ(request.error.retry, RetryClass::not_sent);
}

TEST(Lease, ARefusalLeavesTheServerOutAndFreesThePlace) {
  Bench bench({.max = 1});
  net::Address address;
  const auto nobody = bound(address, -1);
  bench.server().set_addresses({address});
  Request request(bench, "/");
  auto scenario = [&]() -> Task<void> {
    request.lease();
    co_await until_ended(request);
    EXPECT_EQ(bench.pool().gauges().open, 0);
  };
  bench.run(scenario());
  EXPECT_EQ(request.error.kind, ErrorKind::refused);
  EXPECT_EQ(request.error.retry, RetryClass::not_sent);
  EXPECT_FALSE(bench.server().usable(bench.reactor().now_ms()));
}

TEST(Lease, AnotherAddressOfTheSameNameIsTried) {
  Bench bench({.max = 1});
  net::Address dead;
  net::Address alive;
  const auto nobody = bound(dead, -1);
  const auto listener = bound(alive, 8);
  bench.server().set_addresses({dead, alive});
  auto scenario = [&]() -> Task<void> {
    for (int i = 0; i < 2; ++i) {
      Request request(bench, "/");
      request.lease(LeaseKind::fresh);
      co_await until_ended(request);
      EXPECT_TRUE(request.held);
    }
  };
  bench.run(scenario());
  EXPECT_TRUE(bench.server().usable(bench.reactor().now_ms()));
}

TEST(Lease, AClientThatLeavesDuringTheConnectIsNoFaultOfTheServer) {
  Bench bench({.max = 1});
  net::Address address;
  const auto deaf = bound(address, 0);  // its queue is full: connects hang
  std::vector<util::UniqueFd> fill;
  for (int i = 0; i < 4; ++i) {
    fill.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    ::connect(fill.back().get(), address.raw(), address.size());
  }
  bench.server().set_addresses({address});
  Request request(bench, "/");
  auto scenario = [&]() -> Task<void> {
    request.lease();
    EXPECT_EQ(bench.pool().gauges().open, 1) << "a connection on its way counts";
    request.side.fiber.cancel();
    co_await turns(2);
    EXPECT_TRUE(request.side.ended);
  };
  bench.run(scenario());
  EXPECT_EQ(request.error.kind, ErrorKind::cancelled);
  EXPECT_NE(request.error.source, Source::server);
  EXPECT_EQ(bench.pool().gauges().open, 0);
  EXPECT_TRUE(bench.server().usable(bench.reactor().now_ms()));
}

class AgainstOrigin : public ::testing::Test {
 protected:
  void start(PoolLimits limits) {
    bench = std::make_unique<Bench>(limits);
    bench->server().set_addresses({*net::Address::from_bind(origin.http_address())});
  }
  origin::Origin origin;
  std::unique_ptr<Bench> bench;
};

TEST_F(AgainstOrigin, ManyRequestsShareFewConnections) {
  start({.max = 8, .idle = 8, .queue = 500, .queue_ms = 120'000});
  std::deque<Request> requests;
  int most = 0;
  auto scenario = [&]() -> Task<void> {
    for (int i = 0; i < 200; ++i) {
      requests.emplace_back(*bench, i % 3 == 0 ? "/bytes/100000" : "/bytes/10");
      requests.back().ask();
      most = std::max(most, bench->pool().gauges().open);
    }
    for (auto& request : requests) {
      co_await until_ended(request);
      most = std::max(most, bench->pool().gauges().open);
    }
    const auto end = bench->pool().gauges();
    EXPECT_EQ(end.waiting, 0);
    EXPECT_EQ(end.idle, end.open) << "each came back";
  };
  bench->run(scenario());
  EXPECT_EQ(most, 8);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ASSERT_EQ(requests[i].status, 200) << util::to_string(requests[i].error.kind);
    ASSERT_EQ(requests[i].body.size(), i % 3 == 0 ? 100'000U : 10U);
  }
}

TEST_F(AgainstOrigin, ABodyThatNobodyReadsToItsEndCostsItsConnection) {
  start({.max = 2});
  auto scenario = [&]() -> Task<void> {
    Request request(*bench, "/bytes/50000000");
    request.ask();
    while (request.body.empty()) {
      net::Pause pause(bench->reactor().after(4));
      co_await pause;
    }
    request.side.fiber.cancel();
    co_await until_ended(request);
    EXPECT_EQ(request.error.kind, ErrorKind::cancelled);
    EXPECT_EQ(bench->pool().gauges().open, 0);
  };
  bench->run(scenario());
}

TEST_F(AgainstOrigin, AFreshLeaseNeverTakesAPooledConnection) {
  start({.max = 2});
  auto scenario = [&]() -> Task<void> {
    Request first(*bench, "/bytes/1");
    first.ask();
    co_await until_ended(first);
    EXPECT_EQ(bench->pool().gauges().idle, 1);
    Request any(*bench, "/");
    any.lease();
    co_await until_ended(any);
    EXPECT_TRUE(any.held && any.held->uses() == 1);
    any.held.discard();
    Request second(*bench, "/bytes/1");
    second.ask();
    co_await until_ended(second);
    Request fresh(*bench, "/");
    fresh.lease(LeaseKind::fresh);
    co_await until_ended(fresh);
    EXPECT_TRUE(fresh.held && fresh.held->uses() == 0);
    EXPECT_EQ(bench->pool().gauges().open, 1) << "it took the place of the pooled one";
  };
  bench->run(scenario());
}

}  // namespace
}  // namespace pontage::upstream
