// What a stream tells about its peer, and how it moves to another reactor.
#include <array>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/unit/net/loop.h"
#include "tests/unit/net/sockets.h"

namespace pontage::net {
namespace {

using testing::Loop;
using testing::make_pair;
using testing::turns;
using util::Source;

void count_up(void* counter) noexcept {
  ++*static_cast<int*>(counter);
}

TEST(Hangup, IsToldWhenThePeerClosesAndNotWhenItSpeaks) {
  Loop loop;
  auto pair = make_pair();
  SocketStream stream(loop.reactor, std::move(pair.near));
  int told = 0;
  stream.watch_hangup(&count_up, &told);
  auto scenario = [&]() -> Task<void> {
    testing::put(pair.far, "data");
    co_await turns(3);
    EXPECT_EQ(told, 0);
    EXPECT_TRUE(stream.maybe_readable());
    ::shutdown(pair.far.get(), SHUT_WR);
    while (told == 0) co_await Yield();
    EXPECT_TRUE(stream.peer_closed());
    EXPECT_FALSE(stream.peer_reset()) << "half closed is not reset";
  };
  loop.run(scenario());
}

TEST(Hangup, IsToldOfDataToWhomItIsNoneOfTheirs) {
  Loop loop;
  auto pair = make_pair();
  SocketStream stream(loop.reactor, std::move(pair.near));
  int told = 0;
  stream.watch_hangup(&count_up, &told, ByteStream::OnInput::report);
  auto scenario = [&]() -> Task<void> {
    testing::put(pair.far, "x");
    while (told == 0) co_await Yield();
    stream.watch_hangup(nullptr, nullptr);
    pair.far.reset();
    while (!stream.peer_closed()) co_await Yield();
  };
  loop.run(scenario());
  EXPECT_EQ(told, 1) << "nobody watched any more";
}

TEST(Hangup, MayDestroyTheStream) {
  Loop loop;
  auto pair = make_pair();
  auto stream = std::make_unique<SocketStream>(loop.reactor, std::move(pair.near));
  stream->watch_hangup([](void* own) noexcept { static_cast<std::unique_ptr<SocketStream>*>(own)->reset(); }, &stream);
  auto scenario = [&]() -> Task<void> {
    pair.far.reset();
    while (stream != nullptr) co_await Yield();
  };
  loop.run(scenario());
}

TEST(Hangup, IsToldInTheFirstPassBeforeAnyFiberRuns) {
  Loop loop;
  auto pair = make_pair();
  SocketStream stream(loop.reactor, std::move(pair.near));
  int told = 0;
  stream.watch_hangup(&count_up, &told);
  auto scenario = [&]() -> Task<void> {
    pair.far.reset();
    co_await Yield();  // the kernel knows by now; the next turn begins with its report
    EXPECT_EQ(told, 1);
  };
  loop.run(scenario());
}

TEST(Release, MovesADescriptorWithItsUnreadBytesToAnotherReactor) {
  Loop first;
  auto pair = make_pair();
  SocketStream stream(first.reactor, std::move(pair.near));
  util::UniqueFd moved;
  auto leave = [&]() -> Task<void> {
    testing::put(pair.far, "before");
    co_await turns(2);
    EXPECT_TRUE(stream.maybe_readable());
    moved = stream.release();
    testing::put(pair.far, " and after");
  };
  first.run(leave());
  ASSERT_TRUE(moved);

  std::string got;
  std::thread other([&] {
    Loop second;
    SocketStream adopted(second.reactor, std::move(moved));
    auto scenario = [&]() -> Task<void> {
      std::array<char, 64> room{};
      const auto read = co_await read_some(adopted, room, kNoDeadline, observe::Phase::server, Source::server);
      if (read) got.assign(room.data(), *read);
      std::array<iovec, 1> piece{iovec{room.data(), 2}};
      co_await write_all(adopted, piece, More::no, 0, observe::Phase::server, Source::server);
    };
    second.run(scenario());
    Recycler::trim();  // as a worker does at its end
  });
  other.join();
  EXPECT_EQ(got, "before and after");
  EXPECT_EQ(testing::take(pair.far), "be");
}

TEST(Release, TheReactorLeftBehindHearsNothingMore) {
  Loop loop;
  auto pair = make_pair();
  int told = 0;
  util::UniqueFd moved;
  auto stream = std::make_unique<SocketStream>(loop.reactor, std::move(pair.near));
  stream->watch_hangup(&count_up, &told);
  auto scenario = [&]() -> Task<void> {
    moved = stream->release();
    stream.reset();
    pair.far.reset();
    co_await turns(3);
  };
  loop.run(scenario());
  EXPECT_EQ(told, 0);
}

}  // namespace
}  // namespace pontage::net
