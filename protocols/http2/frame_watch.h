// What a server watches in its client's frames before the library sees them: floods, by kind of frame (RFC 9113 10.5),
// and the few rules that the library leaves out when it forgets closed streams: frames on a stream that the client has
// ended (5.1), identifiers that were skipped (5.1.1), and PRIORITY (5.3, 6.3). It reads frame headers only, so that its
// cost is a few nanoseconds a frame. No clock of its own: the caller says the time. One connection's; one thread at a
// time.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>

#include "protocols/http2/fault.h"
#include "protocols/http2/limits.h"

namespace pontage::http2 {

class FrameWatch {
 public:
  // Bytes of `input` that may go on to the library, and what is wrong behind them.
  struct Seen {
    std::size_t good = 0;
    Fault fault = Fault::none;
  };
  Seen watch(std::span<const char> input, std::uint64_t now_ms) noexcept;

  // A stream was reset by us because of what the client did: that counts like its own resets.
  Fault count_reset(std::uint64_t now_ms) noexcept { return spend(resets_, kResets, 1, now_ms, Fault::resets); }
  // DATA was sent: the client may answer it by WINDOW_UPDATEs.
  void count_sent(std::size_t bytes) noexcept;
  // A header block has begun and not ended: the client owes its rest.
  bool in_header_block() const noexcept { return in_block_ || (in_payload_ && is_block_frame()); }
  // The library has no stream of this identifier any more though the client had not ended it: not the client's fault.
  std::uint32_t last_stream() const noexcept { return last_; }

 private:
  struct Bucket {
    std::int64_t milli = -1;  // thousandths of a frame; -1: full
    std::uint64_t filled_ms = 0;
  };
  static constexpr std::uint8_t kHeadersType = 1;
  static constexpr std::uint8_t kContinuationType = 9;
  static constexpr std::size_t kHeader = 9;
  static constexpr std::size_t kPreface = 24;
  static constexpr std::size_t kRemembered = 512;  // streams whose state is known, the last ones

  Fault spend(Bucket& bucket, const FrameBudget& budget, std::uint32_t frames, std::uint64_t now_ms,
              Fault fault) noexcept;
  Fault begin_frame(std::uint64_t now_ms) noexcept;
  Fault begin_headers() noexcept;
  bool is_block_frame() const noexcept { return type_ == kHeadersType || type_ == kContinuationType; }
  Fault check_live() noexcept;
  void end_stream() noexcept;
  Fault end_payload() noexcept;

  std::array<unsigned char, kHeader> header_{};
  std::array<unsigned char, 5> payload_{};  // the first bytes of PRIORITY's
  std::size_t have_ = 0;                    // of the header
  std::size_t preface_left_ = kPreface;
  std::size_t length_ = 0;
  std::size_t left_ = 0;  // of the payload
  std::uint32_t id_ = 0;
  std::uint32_t last_ = 0;  // the highest identifier of the client so far
  std::uint32_t continuations_ = 0;
  std::uint8_t type_ = 0;
  std::uint8_t flags_ = 0;
  bool in_payload_ = false;
  bool in_block_ = false;
  std::bitset<kRemembered> opened_;  // bit 0 is last_, bit 1 the odd number before it
  std::bitset<kRemembered> ended_;   // by END_STREAM or RST_STREAM
  Bucket resets_, settings_, pings_, empty_, priority_, windows_;
};

}  // namespace pontage::http2
