// Pipes as a stream: what a process says after nobody waits for it any more is not read.
#include "src/net/pipe_stream.h"

#include <array>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/net/loop.h"

namespace pontage::net {
namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    near.reset(ends[0]);
    far.reset(ends[1]);
  }
  void say(const std::string& text) const {
    EXPECT_EQ(::write(far.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  util::UniqueFd near;
  util::UniqueFd far;
};

std::string read(ByteStream& stream, std::size_t most) {
  std::string room(most, '\0');
  const IoResult got = stream.try_read(room);
  if (got.status == IoStatus::end) return "(end)";
  if (got.status != IoStatus::done) return "(nothing)";
  room.resize(got.bytes);
  return room;
}

TEST(PipeStream, ReadsWhatWasThereWhenItsInputEnded) {
  Reactor reactor;
  Pipe pipe;
  PipeStream stream(reactor, std::move(pipe.near), {});
  pipe.say("before");
  stream.end_input();
  pipe.say("after");
  EXPECT_EQ(read(stream, 4), "befo");
  EXPECT_EQ(read(stream, 64), "re");
  pipe.say("without end");
  EXPECT_EQ(read(stream, 64), "(end)");
  EXPECT_EQ(read(stream, 64), "(end)");
}

TEST(PipeStream, EndsAtOnceWhenNothingWasThere) {
  Reactor reactor;
  Pipe pipe;
  PipeStream stream(reactor, std::move(pipe.near), {});
  stream.end_input();
  pipe.say("after");
  EXPECT_EQ(read(stream, 64), "(end)");
}

}  // namespace
}  // namespace pontage::net
