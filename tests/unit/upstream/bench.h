// A server with its pool and one or more reactors, and connections to nobody: each is one end of a socket pair.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "src/upstream/pool.h"
#include "src/upstream/server.h"
#include "tests/unit/net/loop.h"

namespace pontage::upstream::testing {

using net::Task;

class Bench {
 public:
  explicit Bench(PoolLimits limits, unsigned workers = 1) {
    std::vector<net::Reactor*> all;
    for (unsigned i = 0; i < workers; ++i) {
      reactors_.push_back(std::make_unique<net::Reactor>(i));
      all.push_back(reactors_.back().get());
    }
    ServerSettings settings;
    settings.name = "a";
    settings.pool = limits;
    server_ = std::make_shared<BackendServer>("app", std::move(settings), all, metrics_);
  }
  // The loops have ended: what still idles is closed here.
  ~Bench() {
    server_->pool().retire();
    settle();
    const auto end = pool().gauges();
    EXPECT_EQ(end.open, 0);
    EXPECT_EQ(end.idle, 0);
    EXPECT_EQ(end.waiting, 0);
    EXPECT_EQ(server_.use_count(), 1);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  // Runs a scenario on the first reactor to its end.
  void run(Task<void> scenario) {
    net::Fiber fiber(reactor());
    net::launch(
        fiber, std::move(scenario), [](void* r) noexcept { static_cast<net::Reactor*>(r)->stop(); }, &reactor());
    reactor().run();
  }

  // After the loops have ended and their threads are joined: what they posted to each other is done here.
  void settle() {
    for (int round = 0; round < 3; ++round) {
      for (auto& reactor : reactors_) {
        reactor->stop();
        reactor->run();
      }
    }
  }

  net::Reactor& reactor(unsigned worker = 0) noexcept { return *reactors_[worker]; }
  Pool& pool() noexcept { return server_->pool(); }
  BackendServer& server() noexcept { return *server_; }
  // Of the first worker.
  observe::WorkerMetrics& counters() noexcept { return counters_; }

  // A new connection, as leave of the pool allows one.
  std::unique_ptr<BackendConnection> open(net::Reactor& reactor) {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    {
      const std::lock_guard guard(lock_);
      far_[fds[0]] = util::UniqueFd(fds[1]);
    }
    return server_->make_connection(std::make_unique<net::SocketStream>(reactor, util::UniqueFd(fds[0])));
  }
  // The server's end of a connection.
  int far(const BackendConnection& connection) {
    const std::lock_guard guard(lock_);
    return far_[connection.stream().fd()].get();
  }
  void close_far(int near) {
    const std::lock_guard guard(lock_);
    far_.erase(near);
  }
  // A connection leaves an exchange that broke: it is closed, and its place is free.
  void discard(std::unique_ptr<BackendConnection> connection) {
    connection.reset();
    pool().forget();
  }

 private:
  observe::Metrics metrics_;
  observe::WorkerMetrics& counters_ = metrics_.add_worker();
  std::vector<std::unique_ptr<net::Reactor>> reactors_;
  std::shared_ptr<BackendServer> server_;
  std::mutex lock_;
  std::map<int, util::UniqueFd> far_;  // by the near end's number
};

// What one request got.
struct Got {
  bool ended = false;
  bool reused = false;
  util::Error error;
  std::unique_ptr<BackendConnection> connection;  // nullptr: it failed, see error
};

inline Task<void> acquire(Bench& bench, net::Reactor& reactor, Got& got) {
  auto granted = co_await bench.pool().acquire(reactor);
  if (granted) {
    got.reused = granted->connection != nullptr;
    got.connection = got.reused ? std::move(granted->connection) : bench.open(reactor);
  } else {
    got.error = granted.error();
  }
  got.ended = true;
}

}  // namespace pontage::upstream::testing
