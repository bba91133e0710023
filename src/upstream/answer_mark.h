// AnswerMark: how many bytes of the next answer are worth waiting for before it is looked at. A server that sends head,
// body and end in packets of their own otherwise wakes the gateway for each (PERF.md 7); the kernel can keep silent
// until so many bytes wait (SO_RCVLOWAT). It is a guess from the connection's last answers: their least size, so that
// nearly every answer reaches it. The wait is bounded by a few times what an answer takes; a guess that does not help
// rests for ever longer. Pure; one per connection.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace pontage::upstream {

class AnswerMark {
 public:
  static constexpr std::uint32_t kLearn = 8;   // answers in a row before the first guess
  static constexpr std::uint32_t kBlock = 32;  // the guess is the least of the last one to two blocks of answers
  static constexpr std::uint64_t kLeastMs = 4;
  static constexpr std::uint64_t kMostMs = 50;
  static constexpr std::uint32_t kMostRest = 7;  // rests up to kLearn << kMostRest answers

  // Bytes, 0: no guess. `most`: what one read can take.
  std::size_t next(std::size_t most) const noexcept {
    if (rest_ > 0) return 0;
    const std::size_t least = std::min(least_, least_before_);
    return least <= most ? least : 0;
  }
  // How long to wait for it after the request, in milliseconds: what only a late or a shorter answer needs.
  std::uint64_t patience_ms() const noexcept {
    return std::clamp<std::uint64_t>(4 * took_ / kParts, kLeastMs, kMostMs);
  }
  // An answer came whole, of `bytes` with all its framing, `took_ms` milliseconds after the request.
  void answered(std::size_t bytes, std::uint64_t took_ms) noexcept {
    took_ += std::min(took_ms, kMostMs) - took_ / kParts;
    least_ = std::min(least_, bytes);
    if (rest_ > 0) --rest_;
    if (++count_ < kBlock) return;
    least_before_ = least_;
    least_ = bytes;
    count_ = 0;
  }
  // Waiting for the mark brought the whole answer at once.
  void helped() noexcept { failures_ = 0; }
  // It did not: the answer was longer, shorter or late.
  void failed() noexcept {
    rest_ = kLearn << failures_;
    if (failures_ < kMostRest) ++failures_;
  }

 private:
  static constexpr std::uint64_t kParts = 8;
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::uint64_t took_ = 0;     // kParts times the moving mean
  std::size_t least_ = kNone;  // of this block
  std::size_t least_before_ = kNone;
  std::uint32_t count_ = 0;  // answers of this block
  std::uint32_t rest_ = kLearn;
  std::uint32_t failures_ = 0;
};

}  // namespace pontage::upstream
