// A body that is compressed while it is pulled. Owns the body it is made of and an encoder; lives in the exchange's
// arena, made by CompressHandler, used and dropped by whoever sends the response. The worker's thread.
//
// - Nothing is held back: as soon as the source has nothing more now, or wants what came so far on its way, the encoder
//   is flushed and the batch goes out. So an event stream, or a page that is made slowly, comes as it would without
//   compression. A source that is faster than the client is never flushed.
// - The worker is shared: after each 64 KiB of input other fibers have their turn. Within them the CPU is ours; what 64
//   KiB take is up to the level (gzip 5: a millisecond; brotli 11: a quarter of a second).
// - File ranges are read here, 16 KiB at a time, with pread: from the page cache as a rule, or from the disk, for which
//   the worker waits, as it does in sendfile.
// - A body that failed, or that disagrees with the length its head promised, is never finished: what came before is
//   sent, then the error is reported, and no decoder takes it for whole (ADAPTERS X10).
// One chunk of the worker's pool holds the output, a second one what is read of a file; both are given back while the
// source is waited for.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "protocols/message/framing.h"
#include "src/http/body_source.h"
#include "src/http/encoder.h"
#include "src/net/chunk_pool.h"
#include "src/net/reactor.h"

namespace pontage::handlers {

// The part of a worker's encoder memory that one body uses, given back when it is destroyed. Clients that read slowly
// hold an encoder for as long, so what all of them hold has a limit; past it bodies are sent as they are.
class EncoderShare {
 public:
  static constexpr std::size_t kLimit = std::size_t{128} << 20;  // bytes, each worker

  // nullopt: this thread's limit is reached.
  static std::optional<EncoderShare> take(std::size_t bytes) noexcept;
  EncoderShare(EncoderShare&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  EncoderShare& operator=(EncoderShare&&) = delete;
  ~EncoderShare();

 private:
  explicit EncoderShare(std::size_t bytes) noexcept : bytes_(bytes) {}
  std::size_t bytes_;
};

class CompressBody final : public http::BodySource {
 public:
  // `promised` is the framing of `source`.
  CompressBody(net::Reactor& reactor, http::BodyPtr source, http::EncoderPtr encoder, EncoderShare share,
               message::BodyFraming promised)
      : reactor_(&reactor),
        source_(std::move(source)),
        share_(std::move(share)),
        encoder_(std::move(encoder)),
        promised_(promised) {}

  // As BodySource says; one piece of memory at most, up to 16 KiB. The source's trailers come with the last batch.
  // Errors: the source's, io (a file that cannot be read), overload (no chunk, no memory in the encoder), cancelled.
  net::Task<util::Result<void>> pull(http::BodyBatch& batch, std::size_t budget, http::Patience patience) override;
  void drop() noexcept override { this->~CompressBody(); }

 private:
  using Operation = http::ContentEncoder::Operation;
  enum class Pace : std::uint8_t {
    hungry,     // the input is used up
    full,       // no room for more output
    turn_over,  // it is the others' turn
    complete,   // flushed or finished: deliver
    more,       // go on
  };
  // What the encoder works on: input and operation stay the same until it is done.
  struct Slice {
    std::string_view bytes;
    Operation operation = Operation::more;
    bool open = false;
  };

  util::Result<Pace> encode();
  util::Result<Pace> open_slice();
  util::Result<std::string_view> read_file(const http::Piece& piece, std::size_t most);
  Operation operation_after_slice() const noexcept;
  net::Task<void> refill(http::Patience patience);
  void fail_later(const util::Error& error) noexcept;
  void deliver(http::BodyBatch& batch, std::size_t budget) noexcept;

  net::Reactor* reactor_;
  http::BodyPtr source_;
  EncoderShare share_;
  http::EncoderPtr encoder_;
  message::BodyFraming promised_;
  std::uint64_t received_ = 0;  // from the source

  http::BodyBatch in_;
  std::size_t piece_ = 0;    // of in_
  std::uint64_t taken_ = 0;  // of that piece
  net::Chunk file_;          // what was read of a file piece
  Slice slice_;
  std::size_t turn_ = 0;  // bytes of input since others had their turn

  net::Chunk out_;
  std::size_t made_ = 0;                // bytes in out_
  std::size_t sent_ = 0;                // of them, handed out
  std::optional<util::Error> failure_;  // reported once everything before it was handed out
  bool unflushed_ = false;              // the encoder may hold bytes back
  bool flush_due_ = false;
  bool flushed_ = false;  // the batch should say so
  bool finished_ = false;
};

}  // namespace pontage::handlers
