// How a head decoder takes its input in: in place when the whole head came in one piece, else through the pieces kept
// so far. A member of the two head decoders and nobody else's business; it owns the partial head and the failure. One
// thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocols/message/arena.h"
#include "protocols/wire/decode_error.h"
#include "protocols/wire/expected.h"
#include "protocols/wire/limits.h"

namespace pontage::http1 {

enum class HeadEvent : std::uint8_t { need_more, head };
struct HeadStep {
  std::size_t consumed = 0;
  HeadEvent event = HeadEvent::need_more;
};

// How far a head has been read: offsets into it, kept while more bytes are awaited.
struct HeadProgress {
  std::size_t line = 0;       // where the line being read starts
  std::size_t scanned = 0;    // no control byte lies between `line` and here
  std::size_t fields_at = 0;  // where the first field line starts; 0 while the first line is being read
  std::size_t fields = 0;     // complete field lines
};

// A complete head, up to and with its empty line, as a view of the input or of the pieces; empty when more is needed.
struct HeadText {
  std::size_t consumed = 0;  // of the input
  std::string_view text;
};

class HeadIntake {
 public:
  using Step = wire::Expected<HeadStep, wire::DecodeError>;

  explicit HeadIntake(const wire::HeadLimits& limits) noexcept : limits_(limits) {}

  // Takes in `input`. `lines` has seen every line, as views of the result's text, when that is complete; while a head
  // comes in pieces, a `Lines::FirstLine` checks the first line. Defined in head_scan.h.
  template <class Lines>
  wire::Expected<HeadText, wire::DecodeError> take(std::string_view input, Lines& lines);

  // Ends a decode call: keeps the arena's growth since `mark` for a head only, remembers an error, and is ready for
  // the next head after one.
  Step settle(Step step, message::Arena& arena, message::Arena::Mark mark) noexcept;

  void set_limits(const wire::HeadLimits& limits) noexcept { limits_ = limits; }

  bool failed() const noexcept { return failed_; }
  wire::DecodeError error() const noexcept { return error_; }
  // The incomplete head so far.
  std::string_view pending() const noexcept { return pending_; }
  void reset() noexcept;

 private:
  template <class FirstLine>
  wire::Expected<HeadText, wire::DecodeError> take_piece(std::string_view input);

  wire::HeadLimits limits_;
  std::string pending_;
  HeadProgress progress_;
  bool failed_ = false;
  wire::DecodeError error_{};
};

}  // namespace pontage::http1
