#include "protocols/http2/frame_watch.h"

#include <algorithm>

namespace pontage::http2 {
namespace {

enum FrameType : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriorityFrame = 2,
  kRstStream = 3,
  kSettingsFrame = 4,
  kPushPromise = 5,
  kPing = 6,
  kGoaway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};
constexpr std::uint8_t kEndStream = 0x1;
constexpr std::uint8_t kEndHeaders = 0x4;
constexpr std::size_t kSentPerUpdate = 512;  // bytes sent that allow one more WINDOW_UPDATE

}  // namespace

FrameWatch::Seen FrameWatch::watch(std::span<const char> input, std::uint64_t now_ms) noexcept {
  std::size_t at = std::min(preface_left_, input.size());
  preface_left_ -= at;
  while (at < input.size()) {
    if (!in_payload_) {
      const std::size_t begin = at;
      while (have_ < kHeader && at < input.size()) header_[have_++] = static_cast<unsigned char>(input[at++]);
      if (have_ < kHeader) break;
      have_ = 0;
      const Fault fault = begin_frame(now_ms);
      if (fault != Fault::none) return {begin, fault};
      in_payload_ = true;
      left_ = length_;
    }
    const std::size_t take = std::min(left_, input.size() - at);
    if (type_ == kPriorityFrame) {
      for (std::size_t i = 0, to = length_ - left_; i < take && to < payload_.size(); ++i, ++to) {
        payload_[to] = static_cast<unsigned char>(input[at + i]);
      }
    }
    left_ -= take;
    if (left_ == 0) {
      in_payload_ = false;
      const Fault fault = end_payload();
      if (fault != Fault::none) return {at, fault};
    }
    at += take;
  }
  return {input.size(), Fault::none};
}

Fault FrameWatch::begin_frame(std::uint64_t now_ms) noexcept {
  length_ = static_cast<std::size_t>(header_[0]) << 16 | static_cast<std::size_t>(header_[1]) << 8 | header_[2];
  type_ = header_[3];
  flags_ = header_[4];
  id_ = (static_cast<std::uint32_t>(header_[5]) & 0x7f) << 24 | static_cast<std::uint32_t>(header_[6]) << 16 |
        static_cast<std::uint32_t>(header_[7]) << 8 | header_[8];
  switch (type_) {
    case kData: {
      if (const Fault fault = check_live(); fault != Fault::none) return fault;
      if ((flags_ & kEndStream) != 0) {
        end_stream();
        return Fault::none;
      }
      return length_ == 0 ? spend(empty_, kEmpty, 1, now_ms, Fault::empty_frames) : Fault::none;
    }
    case kHeaders: return in_block_ ? Fault::none : begin_headers();
    case kPriorityFrame:
      // RFC 9113 6.3. While a header block is open the library refuses any frame.
      if (id_ == 0) return Fault::protocol;
      return spend(priority_, kPriority, 1, now_ms, Fault::priorities);
    case kRstStream: {
      end_stream();
      return spend(resets_, kResets, 1, now_ms, Fault::resets);
    }
    case kSettingsFrame: return spend(settings_, kSettings, 1, now_ms, Fault::settings);
    case kPing: return spend(pings_, kPings, 1, now_ms, Fault::pings);
    case kWindowUpdate: return spend(windows_, kWindows, 1, now_ms, Fault::window_updates);
    case kContinuation:
      if (++continuations_ > kContinuations) return Fault::continuations;
      if ((flags_ & kEndHeaders) != 0) in_block_ = false;
      return Fault::none;
    case kPushPromise:
    case kGoaway:
    default: return spend(priority_, kPriority, 1, now_ms, Fault::priorities);
  }
}

Fault FrameWatch::begin_headers() noexcept {
  if (id_ % 2 == 1 && id_ > last_) {
    const std::size_t step = (id_ - last_ + 1) / 2;
    opened_ = step < kRemembered ? opened_ << step : std::bitset<kRemembered>{};
    ended_ = step < kRemembered ? ended_ << step : std::bitset<kRemembered>{};
    opened_.set(0);
    last_ = id_;
  } else if (id_ % 2 == 1) {
    const std::size_t back = (last_ - id_) / 2;
    // Passed over: closed for ever when a later one was opened (RFC 9113 5.1.1).
    if (back < kRemembered && !opened_.test(back)) return Fault::protocol;
    if (const Fault fault = check_live(); fault != Fault::none) return fault;
  }
  continuations_ = 0;
  in_block_ = (flags_ & kEndHeaders) == 0;
  if ((flags_ & kEndStream) != 0) end_stream();
  return Fault::none;
}

// RFC 9113 5.1: nothing that counts comes on a stream after its END_STREAM or RST_STREAM.
Fault FrameWatch::check_live() noexcept {
  if (id_ % 2 == 0 || id_ > last_) return Fault::none;
  const std::size_t back = (last_ - id_) / 2;
  return back < kRemembered && ended_.test(back) ? Fault::stream_closed : Fault::none;
}

void FrameWatch::end_stream() noexcept {
  if (id_ % 2 == 0 || id_ > last_) return;
  const std::size_t back = (last_ - id_) / 2;
  if (back < kRemembered) ended_.set(back);
}

Fault FrameWatch::end_payload() noexcept {
  if (type_ != kPriorityFrame || length_ != payload_.size()) return Fault::none;
  const std::uint32_t parent = (static_cast<std::uint32_t>(payload_[0]) & 0x7f) << 24 |
                               static_cast<std::uint32_t>(payload_[1]) << 16 |
                               static_cast<std::uint32_t>(payload_[2]) << 8 | payload_[3];
  return parent == id_ ? Fault::protocol : Fault::none;  // RFC 7540 5.3.1: a stream cannot depend on itself
}

void FrameWatch::count_sent(std::size_t bytes) noexcept {
  if (windows_.milli < 0) return;
  windows_.milli += static_cast<std::int64_t>((1 + bytes / kSentPerUpdate) * 1000);
  windows_.milli = std::min<std::int64_t>(windows_.milli, std::int64_t{kWindows.burst} * 1000);
}

Fault FrameWatch::spend(Bucket& bucket, const FrameBudget& budget, std::uint32_t frames, std::uint64_t now_ms,
                        Fault fault) noexcept {
  const std::int64_t full = std::int64_t{budget.burst} * 1000;
  if (bucket.milli < 0) {
    bucket.milli = full;
  } else if (now_ms > bucket.filled_ms) {
    const auto passed = static_cast<std::int64_t>(std::min<std::uint64_t>(now_ms - bucket.filled_ms, 1'000'000));
    bucket.milli = std::min(full, bucket.milli + passed * budget.per_second);
  }
  bucket.filled_ms = now_ms;
  const std::int64_t price = std::int64_t{frames} * 1000;
  if (bucket.milli < price) return fault;
  bucket.milli -= price;
  return Fault::none;
}

}  // namespace pontage::http2
