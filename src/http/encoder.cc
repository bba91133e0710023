#include "src/http/encoder.h"

#include <algorithm>
#include <array>

#include "src/http/encoder_libraries.h"

namespace pontage::http {

using message::ContentCoding;

namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kKept = 4;  // of each coding
constexpr std::size_t kLargestKept = 3072 * kKiB;

ContentEncoder* new_encoder(ContentCoding coding) noexcept {
  switch (coding) {
    case ContentCoding::identity: return nullptr;
    case ContentCoding::gzip: return new_gzip_encoder();
    case ContentCoding::br: return new_brotli_encoder();
    case ContentCoding::zstd: return new_zstd_encoder();
  }
  return nullptr;
}

// Encoders of this thread that nobody uses.
class Idle {
 public:
  ~Idle() {
    gone_ = true;
    for (Shelf& shelf : shelves_) {
      for (std::size_t i = 0; i < shelf.count; ++i) delete shelf.encoders[i];
    }
  }
  ContentEncoder* take(ContentCoding coding) noexcept {
    Shelf& shelf = shelves_[static_cast<std::size_t>(coding)];
    return shelf.count == 0 ? nullptr : shelf.encoders[--shelf.count];
  }
  bool put(ContentEncoder* encoder) noexcept {
    Shelf& shelf = shelves_[static_cast<std::size_t>(encoder->coding())];
    if (shelf.count == kKept || encoder->memory() > kLargestKept) return false;
    shelf.encoders[shelf.count++] = encoder;
    return true;
  }
  // Whether this thread is ending and its lists are no more.
  static bool gone() noexcept { return gone_; }

 private:
  struct Shelf {
    std::array<ContentEncoder*, kKept> encoders{};
    std::size_t count = 0;
  };
  std::array<Shelf, message::kContentCodings> shelves_{};
  static thread_local constinit bool gone_;
};
thread_local constinit bool Idle::gone_ = false;
thread_local Idle idle;

}  // namespace

void RecycleEncoder::operator()(ContentEncoder* encoder) const noexcept {
  if (Idle::gone() || !idle.put(encoder)) delete encoder;
}

EncoderPtr ContentEncoder::make(ContentCoding coding, const config::Compression& levels) noexcept {
  const int level = encoder_level(coding, levels);
  ContentEncoder* encoder = Idle::gone() ? nullptr : idle.take(coding);
  // A zstd context does not shrink when a lower level needs less.
  if (encoder != nullptr && encoder->memory() > most_encoder_memory(coding, level)) {
    delete encoder;
    encoder = nullptr;
  }
  if (encoder == nullptr) encoder = new_encoder(coding);
  if (encoder == nullptr) return nullptr;
  if (!encoder->start(level)) {
    delete encoder;
    return nullptr;
  }
  return EncoderPtr(encoder);
}

int encoder_level(ContentCoding coding, const config::Compression& levels) noexcept {
  switch (coding) {
    case ContentCoding::identity: return 0;
    case ContentCoding::gzip: return std::clamp(levels.gzip_level, 1, 9);
    case ContentCoding::br: return std::clamp(levels.brotli_quality, 0, 11);
    case ContentCoding::zstd: return std::clamp(levels.zstd_level, 1, 19);
  }
  return 0;
}

std::size_t most_encoder_memory(ContentCoding coding, int level) noexcept {
  // Brotli's by quality.
  constexpr std::array<std::size_t, 12> kBrotli{512, 512, 2304, 2304, 2304, 2304, 2304, 2304, 2304, 3072, 4096, 6656};
  switch (coding) {
    case ContentCoding::identity: return 0;
    case ContentCoding::gzip: return 300 * kKiB;
    case ContentCoding::br: return kBrotli[static_cast<std::size_t>(std::clamp(level, 0, 11))] * kKiB;
    case ContentCoding::zstd: return (level < 3 ? 1536 : 2304) * kKiB;
  }
  return 0;
}

bool compress_whole(ContentCoding coding, const config::Compression& levels, std::string_view input,
                    std::string& output, std::size_t most) {
  output.clear();
  const EncoderPtr encoder = ContentEncoder::make(coding, levels);
  if (encoder == nullptr) return false;
  std::array<char, 16 * kKiB> room;
  for (;;) {
    const auto step = encoder->step(input, room, ContentEncoder::Operation::finish);
    const bool fits = step.produced <= most - output.size();
    if (step.failed || !fits) {
      output.clear();
      return false;
    }
    output.append(room.data(), step.produced);
    input.remove_prefix(step.consumed);
    if (step.done) return true;
  }
}

}  // namespace pontage::http
