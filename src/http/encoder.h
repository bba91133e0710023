// Compressors of bodies: gzip (zlib), br (libbrotlienc) and zstd (libzstd) behind one interface, made for streams of
// unknown length. Whoever sends a compressed body owns one encoder for as long; destroying it puts it on a short list
// of its thread, from which the next one is taken with its memory, so that steady state allocates nothing large. Any
// thread; an encoder stays on the thread that made it.
//
// Memory, at most, however long the stream is (tests/unit/http_encoder): most_encoder_memory() gives bytes,
//   gzip 0.3 MiB at every level; zstd 1.5 to 2.25 MiB (window 256 KiB, tables of 2^17 entries);
//   br 0.5 to 2.25 MiB up to quality 8, then 3, 4 and 6.5 MiB (window 256 KiB up to quality 3, 64 KiB from 4 on, where
//   larger ones make libbrotli's hash chains grow to 37 MiB).
// The lists keep four encoders of each coding a thread, none above 3 MiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "protocols/message/content_coding.h"
#include "src/config/config.h"

namespace pontage::http {

class ContentEncoder;
struct RecycleEncoder {
  void operator()(ContentEncoder* encoder) const noexcept;
};
using EncoderPtr = std::unique_ptr<ContentEncoder, RecycleEncoder>;

class ContentEncoder {
 public:
  enum class Operation : std::uint8_t {
    more,    // keep what helps to compress the rest
    flush,   // everything given so far can be decoded from everything produced
    finish,  // the stream ends after this input
  };
  struct Step {
    std::size_t consumed = 0;  // bytes of the input
    std::size_t produced = 0;  // bytes of the output
    bool done = false;         // `more`: the input is consumed; otherwise: the operation is complete
    bool failed = false;       // no memory; nothing more comes of this encoder
  };
  // step() wants that much room: below it zlib cannot tell a flush that is complete from one that is not.
  static constexpr std::size_t kLeastRoom = 16;

  // Ready for a new stream at the level that `levels` names for the coding. nullptr: identity, or no memory.
  static EncoderPtr make(message::ContentCoding coding, const config::Compression& levels) noexcept;

  virtual ~ContentEncoder() = default;
  ContentEncoder(const ContentEncoder&) = delete;
  ContentEncoder& operator=(const ContentEncoder&) = delete;

  // Takes input and gives output, as much as the other allows. An operation that is not done is repeated with the same
  // operation and the rest of its input before another one begins. Nothing follows a `finish` that is done.
  virtual Step step(std::string_view input, std::span<char> output, Operation operation) noexcept = 0;
  // Bytes that it holds now.
  virtual std::size_t memory() const noexcept = 0;
  message::ContentCoding coding() const noexcept { return coding_; }

 protected:
  explicit ContentEncoder(message::ContentCoding coding) noexcept : coding_(coding) {}
  // Forgets the stream before, whatever became of it, and begins one at this level. False: no memory.
  virtual bool start(int level) noexcept = 0;

 private:
  message::ContentCoding coding_;
};

// The configured level of a coding; 0 for identity.
int encoder_level(message::ContentCoding coding, const config::Compression& levels) noexcept;
// What an encoder of that coding and level holds at most, in bytes.
std::size_t most_encoder_memory(message::ContentCoding coding, int level) noexcept;

// Compresses a whole body that is in memory. `output` is replaced. False (and `output` is empty) when the result would
// have more than `most` bytes, for identity, or without memory. Takes as long as it takes: a thread that may.
bool compress_whole(message::ContentCoding coding, const config::Compression& levels, std::string_view input,
                    std::string& output, std::size_t most);

}  // namespace pontage::http
