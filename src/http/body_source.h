// A body being pulled: whoever has bytes hands out pieces that are ready now; whoever sends asks again when they are
// gone. Request bodies, proxied responses and files all look the same through it. Worker's thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "protocols/message/header.h"
#include "src/net/task.h"
#include "src/util/error.h"

namespace pontage::http {

// Memory, or a range of an open file. Valid until the next pull or drop.
struct Piece {
  std::string_view memory;  // used when file < 0
  int file = -1;            // a descriptor that stays open as long as the source
  std::uint64_t offset = 0;
  std::uint64_t count = 0;  // bytes of the file range

  std::uint64_t size() const noexcept { return file < 0 ? memory.size() : count; }
};

enum class Flush : std::uint8_t { no, now };  // `now`: the sender of the body wants what came so far on its way
enum class Last : std::uint8_t { no, yes };

struct BodyBatch {
  static constexpr std::size_t kPieces = 16;
  std::array<Piece, kPieces> pieces;
  std::size_t count = 0;
  Flush flush = Flush::no;
  Last last = Last::no;                           // nothing follows
  const message::HeaderList* trailers = nullptr;  // with `last`; nullptr when there are none

  void add(std::string_view memory) noexcept {
    if (!memory.empty()) pieces[count++] = Piece{.memory = memory};
  }
  void clear() noexcept {
    count = 0;
    flush = Flush::no;
    last = Last::no;
    trailers = nullptr;
  }
  std::span<const Piece> view() const noexcept { return {pieces.data(), count}; }
  bool full() const noexcept { return count == kPieces; }
  std::uint64_t bytes() const noexcept {
    std::uint64_t total = 0;
    for (const auto& piece : view()) total += piece.size();
    return total;
  }
};

// How long pull() may wait for more. `none` returns an empty batch when nothing is ready: for sending a head before its
// body exists.
enum class Patience : std::uint8_t { none, wait };

class BodySource {
 public:
  // Fills `batch` (the caller's, empty) with at most `budget` bytes of what is ready now.
  // Suspends only when nothing is ready. One pull at a time; none after the last batch or an error. The batch is the
  // caller's memory because it is large: returned by value it was copied four times a pull.
  virtual net::Task<util::Result<void>> pull(BodyBatch& batch, std::size_t budget, Patience patience) = 0;
  // The end of interest: frees what the source holds at once, never waits. A backend connection goes back to its pool
  // or is closed. Called once, by BodyPtr, whether or not the body was read to its end.
  virtual void drop() noexcept = 0;

 protected:
  ~BodySource() = default;
};

struct DropBody {
  void operator()(BodySource* body) const noexcept { body->drop(); }
};
// Owns a source by the promise to drop it; the memory belongs to an arena or a connection.
using BodyPtr = std::unique_ptr<BodySource, DropBody>;

// A body of bytes that stay valid as long as the exchange (or what `owner` points to). Lives in an arena.
class MemoryBody final : public BodySource {
 public:
  explicit MemoryBody(std::string_view bytes) noexcept : bytes_(bytes) {}
  net::Task<util::Result<void>> pull(BodyBatch& batch, std::size_t budget, Patience patience) override;
  void drop() noexcept override {}

 private:
  std::string_view bytes_;
};

}  // namespace pontage::http
