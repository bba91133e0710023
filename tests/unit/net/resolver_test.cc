// Names to addresses without blocking anybody.
#include "src/net/resolver.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

namespace pontage::net {
namespace {

// The last answer, from whichever thread it came.
class Answer {
 public:
  Resolver::Changed taker() {
    return [this](std::vector<Address> addresses) {
      const std::lock_guard guard(lock_);
      addresses_ = std::move(addresses);
      thread_ = std::this_thread::get_id();
      ++count_;
      changed_.notify_all();
    };
  }
  std::vector<Address> wait() {
    std::unique_lock lock(lock_);
    changed_.wait_for(lock, std::chrono::seconds(60), [this] { return count_ > 0; });
    return addresses_;
  }
  int count() {
    const std::lock_guard guard(lock_);
    return count_;
  }
  std::thread::id thread() {
    const std::lock_guard guard(lock_);
    return thread_;
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<Address> addresses_;
  std::thread::id thread_;
  int count_ = 0;
};

TEST(Resolver, ALiteralIsReportedAtOnceOnTheCallersThread) {
  Resolver resolver;
  for (const char* literal : {"192.0.2.7", "::1"}) {
    Answer answer;
    const auto id = resolver.watch(literal, 8009, answer.taker());
    ASSERT_EQ(answer.count(), 1) << literal;
    EXPECT_EQ(answer.thread(), std::this_thread::get_id());
    EXPECT_EQ(answer.wait(), std::vector<Address>{*Address::from_ip(literal, 8009)});
    resolver.forget(id);
  }
}

TEST(Resolver, LocalhostIsLoopbackWithThePortAskedFor) {
  Answer answer;
  Resolver resolver;
  resolver.watch("localhost", 8080, answer.taker());
  const auto addresses = answer.wait();
  ASSERT_FALSE(addresses.empty());
  for (const auto& address : addresses) {
    EXPECT_TRUE(address.is_loopback()) << address.text();
    EXPECT_EQ(address.port(), 8080);
  }
}

TEST(Resolver, ANameThatDoesNotResolveBlocksNeitherItsWatcherNorTheEnd) {
  Answer answer;
  {
    Resolver resolver;
    for (int i = 0; i < 20; ++i) resolver.watch("no-such-host-" + std::to_string(i) + ".invalid", 80, answer.taker());
  }
  EXPECT_EQ(answer.count(), 0);
}

TEST(Resolver, AnUnresolvableNameDoesNotDelayOthers) {
  Answer bad;
  Answer good;
  Resolver resolver;
  resolver.watch("no-such-host.invalid", 80, bad.taker());
  resolver.watch("localhost", 80, good.taker());
  EXPECT_FALSE(good.wait().empty());
  EXPECT_EQ(bad.count(), 0);
}

TEST(Resolver, ForgettingIsLegalAtAnyTime) {
  Answer answer;
  Resolver resolver;
  for (int i = 0; i < 50; ++i) resolver.forget(resolver.watch("localhost", 80, answer.taker()));
  resolver.forget(0);
  resolver.forget(123456);
}

}  // namespace
}  // namespace pontage::net
