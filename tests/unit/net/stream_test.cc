// ByteStream over pairs of sockets: edges, ends, resets, full buffers, files.
#include "src/net/stream.h"

#include <array>
#include <cerrno>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "tests/unit/net/loop.h"
#include "tests/unit/net/sockets.h"

namespace pontage::net {
namespace {

using observe::Phase;
using testing::Loop;
using testing::make_pair;
using testing::Side;
using testing::turns;
using util::ErrorKind;
using util::Source;

constexpr auto kPhase = Phase::client;

std::string_view text_of(const std::array<char, 64>& room, std::size_t bytes) {
  return {room.data(), bytes};
}

TEST(Stream, AShortReadKnowsThatTheNextWouldFailAndWaitsForTheEdge) {
  Loop loop;
  auto pair = make_pair();
  SocketStream stream(loop.reactor, std::move(pair.near));
  std::array<char, 64> room{};
  auto scenario = [&]() -> Task<void> {
    EXPECT_FALSE(stream.maybe_readable()) << "nothing was reported yet";
    for (const std::string_view word : {"one", "two"}) {
      testing::put(pair.far, word);
      const auto got = co_await read_some(stream, room, kNoDeadline, kPhase, Source::client);
      EXPECT_TRUE(got && text_of(room, *got) == word);
      EXPECT_FALSE(stream.maybe_readable());
      EXPECT_EQ(stream.try_read(room).status, IoStatus::want_read);
    }
  };
  loop.run(scenario());
}

TEST(Stream, AReadThatFilledItsRoomReadsOnWithoutAnotherEdge) {
  Loop loop;
  auto pair = make_pair();
  SocketStream stream(loop.reactor, std::move(pair.near));
  std::array<char, 64> room{};
  testing::put(pair.far, std::string(100, 'x'));
  auto scenario = [&]() -> Task<void> {
    const auto first = co_await read_some(stream, room, kNoDeadline, kPhase, Source::client);
    EXPECT_EQ(*first, 64U);
    EXPECT_TRUE(stream.maybe_readable());
    EXPECT_EQ(stream.try_read(room).bytes, 36U);
  };
  loop.run(scenario());
}

// A peer that always has more, or always takes more, does not keep the worker from all others.
TEST(Stream, WritesNoMoreThanItsShareInOneTurnAndGoesOnInTheNextWithoutAnEdge) {
  Loop loop;
  auto pair = make_pair();
  SocketStream stream(loop.reactor, std::move(pair.near));
  std::string text(65536, 'x');
  const iovec piece{text.data(), text.size()};
  auto scenario = [&]() -> Task<void> {
    for (int i = 0; i < 3; ++i) {
      const std::uint32_t turn = loop.reactor.turn();
      std::size_t moved = 0;
      IoResult put;
      while ((put = stream.try_write({&piece, 1}, More::no)).status == IoStatus::done) {
        moved += put.bytes;
        EXPECT_EQ(testing::take(pair.far).size(), put.bytes);
      }
      EXPECT_EQ(put.status, IoStatus::want_write);
      EXPECT_EQ(moved, ByteStream::kShare);
      EXPECT_EQ(co_await stream.writable(kNoDeadline, kPhase), WaitResult::ready);
      EXPECT_EQ(loop.reactor.turn(), turn + 1);
    }
  };
  loop.run(scenario());
}

TEST(Stream, ReadsNoMoreThanItsShareInOneTurnAndGoesOnInTheNextWithoutAnEdge) {
  Loop loop;
  auto pair = make_pair();
  SocketStream stream(loop.reactor, std::move(pair.near));
  std::string room(65536, ' ');
  auto scenario = [&]() -> Task<void> {
    testing::put(pair.far, room);
    EXPECT_EQ(co_await stream.readable(kNoDeadline, kPhase), WaitResult::ready);
    const std::uint32_t turn = loop.reactor.turn();
    std::size_t moved = 0;
    IoResult got;
    while ((got = stream.try_read(room)).status == IoStatus::done) {
      moved += got.bytes;
      testing::put(pair.far, room);
    }
    EXPECT_EQ(got.status, IoStatus::want_read);
    EXPECT_EQ(moved, ByteStream::kShare);
    EXPECT_EQ(co_await stream.readable(kNoDeadline, kPhase), WaitResult::ready);
    EXPECT_EQ(loop.reactor.turn(), turn + 1);
    EXPECT_EQ(stream.try_read(room).bytes, room.size()) << "what was put when the share was used up";
  };
  loop.run(scenario());
}

TEST(Stream, AnEndThatCameInOneEventWithTheDataIsNotMissed) {
  for (const std::size_t size : {5U, 64U}) {
    Loop loop;
    auto pair = make_pair();
    SocketStream stream(loop.reactor, std::move(pair.near));
    std::array<char, 64> room{};
    testing::put(pair.far, std::string(size, 'x'));
    ::shutdown(pair.far.get(), SHUT_WR);
    auto scenario = [&]() -> Task<void> {
      const auto data = co_await read_some(stream, room, kNoDeadline, kPhase, Source::client);
      EXPECT_EQ(*data, size);
      EXPECT_TRUE(stream.peer_closed());
      const auto end = co_await read_some(stream, room, loop.reactor.after(60'000), kPhase, Source::client);
      EXPECT_TRUE(end && *end == 0);
    };
    loop.run(scenario());
  }
}

TEST(Stream, AnEndThatComesAfterTheDataWasReadWakesTheReader) {
  Loop loop;
  auto pair = make_pair();
  SocketStream stream(loop.reactor, std::move(pair.near));
  std::array<char, 64> room{};
  bool ended = false;
  auto reader = [&]() -> Task<void> {
    const auto got = co_await read_some(stream, room, kNoDeadline, kPhase, Source::client);
    ended = got && *got == 0;
  };
  auto scenario = [&]() -> Task<void> {
    Side side(loop.reactor);
    side.start(reader());
    co_await turns(2);
    EXPECT_FALSE(side.ended);
    pair.far.reset();
    while (!side.ended) co_await Yield();
  };
  loop.run(scenario());
  EXPECT_TRUE(ended);
}

TEST(Stream, AResetIsAnErrorOfItsSource) {
  Loop loop;
  auto pair = testing::make_tcp_pair();
  SocketStream stream(loop.reactor, std::move(pair.near));
  const linger hard{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(pair.far.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  std::array<char, 64> room{};
  auto scenario = [&]() -> Task<void> {
    pair.far.reset();
    const auto got = co_await read_some(stream, room, kNoDeadline, kPhase, Source::server);
    EXPECT_FALSE(got);
    if (got) co_return;
    EXPECT_EQ(got.error().kind, ErrorKind::reset);
    EXPECT_EQ(got.error().source, Source::server);
    EXPECT_EQ(got.error().os_error, ECONNRESET);
    EXPECT_TRUE(stream.peer_reset());
    std::array<iovec, 1> piece{iovec{room.data(), room.size()}};
    const auto put = co_await write_all(stream, piece, More::no, 0, kPhase, Source::server);
    EXPECT_TRUE(!put && put.error().kind == ErrorKind::reset);
  };
  loop.run(scenario());
}

TEST(Stream, AbortOnCloseReachesThePeerAsAReset) {
  Loop loop;
  auto pair = testing::make_tcp_pair();
  {
    SocketStream stream(loop.reactor, std::move(pair.near));
    stream.abort_on_close();
  }
  char byte = 0;
  EXPECT_EQ(::recv(pair.far.get(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
}

TEST(Stream, ShutdownWriteEndsOneDirectionOnly) {
  Loop loop;
  auto pair = make_pair();
  SocketStream stream(loop.reactor, std::move(pair.near));
  stream.shutdown_write();
  char byte = 0;
  EXPECT_EQ(::recv(pair.far.get(), &byte, 1, 0), 0);
  testing::put(pair.far, "still heard");
  std::array<char, 64> room{};
  auto scenario = [&]() -> Task<void> {
    const auto got = co_await read_some(stream, room, kNoDeadline, kPhase, Source::client);
    EXPECT_TRUE(got && text_of(room, *got) == "still heard");
  };
  loop.run(scenario());
}

// Reads everything there is to come.
Task<void> drain(SocketStream& stream, std::string& all) {
  std::array<char, 16384> room;
  for (;;) {
    const auto got = co_await read_some(stream, room, kNoDeadline, kPhase, Source::client);
    if (!got || *got == 0) co_return;
    all.append(room.data(), *got);
  }
}

TEST(Stream, WritesUntilTheBufferIsFullAndGoesOnWhenThereIsRoom) {
  Loop loop;
  auto pair = make_pair();
  SocketStream near(loop.reactor, std::move(pair.near));
  SocketStream far(loop.reactor, std::move(pair.far));
  std::string sent(3'000'000, '\0');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 7 + i / 251);
  std::string got;
  auto scenario = [&]() -> Task<void> {
    Side reader(loop.reactor);
    reader.start(drain(far, got));
    const std::size_t third = sent.size() / 3;
    std::array<iovec, 3> pieces{iovec{sent.data(), third}, iovec{sent.data() + third, third},
                                iovec{sent.data() + 2 * third, sent.size() - 2 * third}};
    const auto put = co_await write_all(near, pieces, More::no, 60'000, kPhase, Source::client);
    EXPECT_TRUE(put);
    near.shutdown_write();
    while (!reader.ended) co_await Yield();
  };
  loop.run(scenario());
  EXPECT_TRUE(got == sent);
}

TEST(Stream, AFullBufferIsRememberedWithoutACall) {
  Loop loop;
  auto pair = make_pair();
  SocketStream stream(loop.reactor, std::move(pair.near));
  std::string block(1 << 20, 'x');
  const iovec piece{block.data(), block.size()};
  IoResult put;
  while ((put = stream.try_write({&piece, 1}, More::no)).status == IoStatus::done) {
  }
  EXPECT_EQ(put.status, IoStatus::want_write);
  auto scenario = [&]() -> Task<void> {
    const WaitResult full = co_await stream.writable(loop.reactor.after(5), kPhase);
    EXPECT_EQ(full, WaitResult::timeout);
    while (!testing::take(pair.far).empty()) {
    }
    const WaitResult room = co_await stream.writable(loop.reactor.after(60'000), kPhase);
    EXPECT_EQ(room, WaitResult::ready);
    EXPECT_EQ(stream.try_write({&piece, 1}, More::no).status, IoStatus::done);
  };
  loop.run(scenario());
}

TEST(Stream, AReaderThatGetsNothingTimesOutOrIsCancelled) {
  Loop loop;
  auto pair = make_pair();
  SocketStream stream(loop.reactor, std::move(pair.near));
  std::array<char, 64> room{};
  util::Error error;
  auto reader = [&](Deadline deadline) -> Task<void> {
    const auto got = co_await read_some(stream, room, deadline, kPhase, Source::client);
    if (!got) error = got.error();
  };
  auto scenario = [&]() -> Task<void> {
    co_await reader(loop.reactor.after(5));
    EXPECT_EQ(error.kind, ErrorKind::timeout);
    Side side(loop.reactor);
    side.start(reader(kNoDeadline));
    side.fiber.cancel();
    co_await turns(1);
    EXPECT_TRUE(side.ended);
    EXPECT_EQ(error.kind, ErrorKind::cancelled);
  };
  loop.run(scenario());
}

TEST(Stream, AWriterWhosePeerDoesNotReadTimesOut) {
  Loop loop;
  auto pair = make_pair();
  SocketStream stream(loop.reactor, std::move(pair.near));
  std::string block(8 << 20, 'x');
  auto scenario = [&]() -> Task<void> {
    std::array<iovec, 1> piece{iovec{block.data(), block.size()}};
    const auto put = co_await write_all(stream, piece, More::no, 10, kPhase, Source::client);
    EXPECT_TRUE(!put && put.error().kind == ErrorKind::timeout && put.error().source == Source::client);
  };
  loop.run(scenario());
}

util::UniqueFd file_of(std::string_view text) {
  util::UniqueFd file(::memfd_create("stream_test", MFD_CLOEXEC));
  EXPECT_EQ(::write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  return file;
}

TEST(Stream, SendsARangeOfAFile) {
  Loop loop;
  auto pair = make_pair();
  SocketStream stream(loop.reactor, std::move(pair.near));
  const auto file = file_of("0123456789");
  const IoResult put = stream.try_send_file(file.get(), 3, 4);
  EXPECT_EQ(put.bytes, 4U);
  EXPECT_EQ(testing::take(pair.far), "3456");
  EXPECT_EQ(stream.try_send_file(file.get(), 8, 100).bytes, 2U);
  const IoResult beyond = stream.try_send_file(file.get(), 10, 5);
  EXPECT_EQ(beyond.status, IoStatus::done);
  EXPECT_EQ(beyond.bytes, 0U) << "the file is shorter than that";
}

TEST(Stream, AFileLargerThanTheBufferArrivesWhole) {
  Loop loop;
  auto pair = make_pair();
  SocketStream near(loop.reactor, std::move(pair.near));
  SocketStream far(loop.reactor, std::move(pair.far));
  std::string content(2'000'000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 + i / 257);
  const auto file = file_of(content);
  std::string got;
  auto scenario = [&]() -> Task<void> {
    Side reader(loop.reactor);
    reader.start(drain(far, got));
    for (std::uint64_t at = 0; at < content.size();) {
      const IoResult put = near.try_send_file(file.get(), at, content.size() - at);
      EXPECT_NE(put.status, IoStatus::error);
      if (put.status == IoStatus::error) break;
      if (put.status == IoStatus::want_write) co_await near.writable(kNoDeadline, kPhase);
      at += put.bytes;
    }
    near.shutdown_write();
    while (!reader.ended) co_await Yield();
  };
  loop.run(scenario());
  EXPECT_TRUE(got == content);
}

TEST(Stream, WakesAtAMarkAndTellsWhatWaitsWhenItIsTakenBack) {
  Loop loop;
  auto pair = testing::make_tcp_pair();
  SocketStream stream(loop.reactor, std::move(pair.near));
  std::array<char, 64> room{};
  auto scenario = [&]() -> Task<void> {
    stream.wake_at(6);
    testing::put(pair.far, "one");
    const auto early = co_await stream.readable(loop.reactor.after(20), kPhase);
    EXPECT_EQ(early, WaitResult::timeout);
    testing::put(pair.far, "two");
    const auto both = co_await read_some(stream, room, kNoDeadline, kPhase, Source::client);
    EXPECT_TRUE(both && text_of(room, *both) == "onetwo");
    testing::put(pair.far, "red");
    const auto again = co_await stream.readable(loop.reactor.after(20), kPhase);
    EXPECT_EQ(again, WaitResult::timeout);
    stream.wake_at(1);
    const auto rest = co_await read_some(stream, room, kNoDeadline, kPhase, Source::client);
    EXPECT_TRUE(rest && text_of(room, *rest) == "red");
  };
  loop.run(scenario());
}

TEST(Stream, AnEndIsToldBelowTheMark) {
  Loop loop;
  auto pair = testing::make_tcp_pair();
  SocketStream stream(loop.reactor, std::move(pair.near));
  std::array<char, 64> room{};
  auto scenario = [&]() -> Task<void> {
    stream.wake_at(6);
    testing::put(pair.far, "one");
    pair.far.reset();
    const auto got = co_await read_some(stream, room, kNoDeadline, kPhase, Source::client);
    EXPECT_TRUE(got && text_of(room, *got) == "one");
  };
  loop.run(scenario());
}

}  // namespace
}  // namespace pontage::net
