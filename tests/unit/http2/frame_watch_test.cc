// What the watch refuses before the library sees it.
#include "protocols/http2/frame_watch.h"

#include <string>

#include <gtest/gtest.h>

namespace pontage::http2 {
namespace {

std::string frame(unsigned type, unsigned flags, unsigned id, const std::string& payload = {}) {
  std::string out(9, '\0');
  out[1] = static_cast<char>(payload.size() >> 8);
  out[2] = static_cast<char>(payload.size());
  out[3] = static_cast<char>(type);
  out[4] = static_cast<char>(flags);
  out[7] = static_cast<char>(id >> 8);
  out[8] = static_cast<char>(id);
  return out + payload;
}

std::string preface() {
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
}

Fault watch_whole(const std::string& frames) {
  FrameWatch watch;
  return watch.watch(preface() + frames, 0).fault;
}

Fault watch_bytes(const std::string& frames) {
  FrameWatch watch;
  for (const char c : preface() + frames) {
    const auto seen = watch.watch({&c, 1}, 0);
    if (seen.fault != Fault::none) return seen.fault;
  }
  return Fault::none;
}

void expect_fault(Fault fault, const std::string& frames) {
  EXPECT_EQ(watch_whole(frames), fault);
  EXPECT_EQ(watch_bytes(frames), fault);
}

std::string times(std::size_t count, const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

TEST(FrameWatch, LetsARequestPass) {
  expect_fault(Fault::none, frame(4, 0, 0) + frame(1, 5, 1, "head") + frame(1, 4, 3, "head") + frame(0, 1, 3, "body"));
}

TEST(FrameWatch, RefusesFramesOnStreamsTheClientEnded) {
  expect_fault(Fault::stream_closed, frame(1, 5, 1) + frame(0, 1, 1, "x"));
  expect_fault(Fault::stream_closed, frame(1, 5, 1) + frame(1, 5, 1));
  expect_fault(Fault::stream_closed, frame(1, 4, 1) + frame(3, 0, 1, "\0\0\0\x8") + frame(0, 1, 1, "x"));
}

TEST(FrameWatch, RefusesASkippedStreamButNotTrailers) {
  expect_fault(Fault::protocol, frame(1, 5, 5) + frame(1, 5, 3));
  expect_fault(Fault::none, frame(1, 4, 3) + frame(1, 5, 5) + frame(1, 5, 3));
}

TEST(FrameWatch, RefusesPriorityOfTheConnectionAndOnItself) {
  const std::string on_seven("\0\0\0\7\x10", 5);
  expect_fault(Fault::protocol, frame(2, 0, 0, on_seven));
  expect_fault(Fault::protocol, frame(2, 0, 7, on_seven));
  expect_fault(Fault::none, frame(2, 0, 9, on_seven));
}

TEST(FrameWatch, NamesEachFlood) {
  std::string resets;
  for (unsigned i = 0; i <= kResets.burst; ++i) resets += frame(1, 4, 2 * i + 1) + frame(3, 0, 2 * i + 1, "code");
  expect_fault(Fault::resets, resets);
  expect_fault(Fault::settings, times(kSettings.burst + 1, frame(4, 0, 0)));
  expect_fault(Fault::pings, times(kPings.burst + 1, frame(6, 0, 0, "12345678")));
  expect_fault(Fault::empty_frames, frame(1, 4, 1) + times(kEmpty.burst + 1, frame(0, 0, 1)));
  expect_fault(Fault::window_updates, times(kWindows.burst + 1, frame(8, 0, 0, "size")));
  expect_fault(Fault::continuations, frame(1, 0, 1) + times(kContinuations + 1, frame(9, 0, 1)));
}

TEST(FrameWatch, BudgetsFillAgainWithTime) {
  FrameWatch watch;
  const std::string first = preface() + times(kPings.burst, frame(6, 0, 0, "12345678"));
  EXPECT_EQ(watch.watch(first, 0).fault, Fault::none);
  EXPECT_EQ(watch.watch(frame(6, 0, 0, "12345678"), 1000).fault, Fault::none);
}

TEST(FrameWatch, SaysWhichBytesAreGood) {
  FrameWatch watch;
  const std::string good = preface() + frame(1, 5, 1, "head");
  const auto seen = watch.watch(good + frame(0, 1, 1, "late"), 0);
  EXPECT_EQ(seen.good, good.size());
  EXPECT_EQ(seen.fault, Fault::stream_closed);
}

TEST(FrameWatch, KnowsThatAHeadIsOwedUntilItsLastByte) {
  const std::string headers("\0\0\6\1\5\0\0\0\1\x82\x86\x84\x41\1a", 15);
  FrameWatch watch;
  watch.watch(preface(), 0);
  for (std::size_t i = 0; i + 1 < headers.size(); ++i) {
    watch.watch(std::string_view(headers).substr(i, 1), 0);
    EXPECT_EQ(watch.in_header_block(), i >= 8) << i;
  }
  watch.watch(std::string_view(headers).substr(headers.size() - 1), 0);
  EXPECT_FALSE(watch.in_header_block());
}

}  // namespace
}  // namespace pontage::http2
