// A request body that can be sent twice.
#include "src/upstream/replay.h"

#include <deque>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/net/loop.h"

namespace pontage::upstream {
namespace {

using http::BodyBatch;
using http::Last;
using http::Patience;
using net::Task;

// A body that comes in these portions, each from memory that is gone with the next pull.
class Portions final : public http::BodySource {
 public:
  explicit Portions(std::deque<std::string> portions) : portions_(std::move(portions)) {}
  Task<util::Result<void>> pull(BodyBatch& batch, std::size_t budget, Patience) override {
    if (fails && portions_.empty()) co_return util::fail(util::ErrorKind::closed, util::Source::client, "test");
    std::fill(now_.begin(), now_.end(), '#');  // whoever kept a view sees this
    now_ = portions_.front();
    portions_.pop_front();
    EXPECT_LE(now_.size(), budget);
    batch.add(now_);
    if (portions_.empty() && !fails) batch.last = Last::yes;
    ++pulls;
    co_return util::Result<void>{};
  }
  void drop() noexcept override {}
  int pulls = 0;
  bool fails = false;

 private:
  std::deque<std::string> portions_;
  std::string now_;
};

struct Sent {
  std::string bytes;
  bool last = false;
  bool failed = false;
};

Task<void> send(ReplayBody& body, Sent& sent, std::size_t budget, int pulls) {
  sent = {};
  BodyBatch batch;
  for (int i = 0; i < pulls && !sent.last; ++i) {
    batch.clear();
    const auto pulled = co_await body.pull(batch, budget, Patience::wait);
    if (!pulled) {
      sent.failed = true;
      co_return;
    }
    EXPECT_LE(batch.bytes(), budget);
    for (const auto& piece : batch.view()) sent.bytes += piece.memory;
    sent.last = batch.last == Last::yes;
  }
}

class ReplayTest : public ::testing::Test {
 protected:
  Sent pull(ReplayBody& body, std::size_t budget = 65536, int pulls = 1000) {
    Sent sent;
    net::testing::Loop loop;
    loop.run(send(body, sent, budget, pulls));
    return sent;
  }
  message::Arena arena;
};

TEST_F(ReplayTest, GivesTheWholeBodyAgain) {
  Portions source({"one ", "two ", "three"});
  ReplayBody body(source, arena);
  for (int round = 0; round < 3; ++round) {
    const Sent sent = pull(body);
    EXPECT_EQ(sent.bytes, "one two three");
    EXPECT_TRUE(sent.last);
    ASSERT_TRUE(body.rewindable());
    body.rewind();
  }
  EXPECT_EQ(source.pulls, 3);
}

TEST_F(ReplayTest, GoesOnWithTheSourceWhereTheFirstTryStopped) {
  Portions source({"one ", "two ", "three"});
  ReplayBody body(source, arena);
  EXPECT_EQ(pull(body, 65536, 2).bytes, "one two ");
  body.rewind();
  const Sent sent = pull(body);
  EXPECT_EQ(sent.bytes, "one two three");
  EXPECT_TRUE(sent.last);
  body.rewind();
  EXPECT_EQ(pull(body).bytes, "one two three");
}

TEST_F(ReplayTest, SplitsWhatItKeptByTheBudget) {
  Portions source({"0123456789", "abcdef"});
  ReplayBody body(source, arena);
  pull(body);
  for (const std::size_t budget : {1U, 3U, 10U, 12U}) {
    body.rewind();
    const Sent sent = pull(body, budget);
    EXPECT_EQ(sent.bytes, "0123456789abcdef") << budget;
    EXPECT_TRUE(sent.last);
  }
  body.rewind();
  EXPECT_EQ(pull(body, 4, 1).bytes, "0123") << "a second try that stops half way";
  body.rewind();
  EXPECT_EQ(pull(body).bytes, "0123456789abcdef");
}

TEST_F(ReplayTest, ManySmallPortionsNeedSeveralBatches) {
  std::deque<std::string> portions;
  std::string all;
  for (int i = 0; i < 100; ++i) {
    portions.push_back(std::to_string(i) + ",");
    all += portions.back();
  }
  Portions source(portions);
  ReplayBody body(source, arena);
  pull(body);
  body.rewind();
  const Sent sent = pull(body);
  EXPECT_EQ(sent.bytes, all);
  EXPECT_TRUE(sent.last);
}

TEST_F(ReplayTest, KeepsExactlySixtyFourKibibytes) {
  Portions fits({std::string(ReplayBody::kMost - 1, 'x'), "y"});
  ReplayBody body(fits, arena);
  pull(body);
  EXPECT_TRUE(body.rewindable());
  body.rewind();
  EXPECT_EQ(pull(body).bytes.size(), ReplayBody::kMost);

  Portions too_long({std::string(ReplayBody::kMost, 'x'), "y", "z"});
  ReplayBody passes(too_long, arena);
  EXPECT_EQ(pull(passes).bytes.size(), ReplayBody::kMost + 2) << "it only passes on";
  EXPECT_FALSE(passes.rewindable());
}

TEST_F(ReplayTest, PassesOnAFailureOfTheClient) {
  Portions source({"one"});
  source.fails = true;
  ReplayBody body(source, arena);
  const Sent sent = pull(body);
  EXPECT_TRUE(sent.failed);
  EXPECT_EQ(sent.bytes, "one");
}

}  // namespace
}  // namespace pontage::upstream
