// gzip: zlib's deflate with a gzip header and trailer (RFC 1952).
#include <algorithm>
#include <new>

#include <zlib.h>

#include "src/http/encoder_heap.h"
#include "src/http/encoder_libraries.h"

namespace pontage::http {
namespace {

constexpr int kWindowBits = 15 + 16;  // 32 KiB; with 16 added the format is gzip
constexpr int kMemoryLevel = 8;

class GzipEncoder final : public ContentEncoder {
 public:
  GzipEncoder() noexcept : ContentEncoder(message::ContentCoding::gzip) {
    stream_.opaque = &heap_;
    stream_.zalloc = [](void* heap, unsigned count, unsigned size) {
      return EncoderHeap::allocate_for(heap, std::size_t{count} * size);
    };
    stream_.zfree = [](void* heap, void* block) { EncoderHeap::free_for(heap, block); };
  }
  ~GzipEncoder() override {
    if (made_) ::deflateEnd(&stream_);
  }

  Step step(std::string_view input, std::span<char> output, Operation operation) noexcept override {
    if (output.size() < kLeastRoom) return {};
    const auto in = static_cast<unsigned>(std::min<std::size_t>(input.size(), kMost));
    const auto room = static_cast<unsigned>(std::min<std::size_t>(output.size(), kMost));
    stream_.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(input.data()));
    stream_.avail_in = in;
    stream_.next_out = reinterpret_cast<unsigned char*>(output.data());
    stream_.avail_out = room;
    const bool whole = in == input.size();
    const int result = ::deflate(&stream_, whole ? flush_of(operation) : Z_NO_FLUSH);
    Step step{.consumed = in - stream_.avail_in, .produced = room - stream_.avail_out};
    // Z_BUF_ERROR: there was nothing to do, such as a second flush in a row.
    step.failed = result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR;
    if (!whole || stream_.avail_in != 0) return step;
    switch (operation) {
      case Operation::more: step.done = true; break;
      case Operation::flush: step.done = stream_.avail_out != 0; break;
      case Operation::finish: step.done = result == Z_STREAM_END; break;
    }
    return step;
  }

  std::size_t memory() const noexcept override { return sizeof *this + heap_.held(); }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 30;

  bool start(int level) noexcept override {
    if (!made_) {
      made_ = ::deflateInit2(&stream_, level, Z_DEFLATED, kWindowBits, kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK;
      level_ = level;
      return made_;
    }
    if (::deflateReset(&stream_) != Z_OK) return false;
    if (level == level_) return true;
    stream_.next_in = nullptr;
    stream_.avail_in = stream_.avail_out = 0;
    level_ = level;
    return ::deflateParams(&stream_, level, Z_DEFAULT_STRATEGY) == Z_OK;
  }
  static int flush_of(Operation operation) noexcept {
    switch (operation) {
      case Operation::more: return Z_NO_FLUSH;
      case Operation::flush: return Z_SYNC_FLUSH;
      case Operation::finish: return Z_FINISH;
    }
    return Z_NO_FLUSH;
  }

  EncoderHeap heap_;
  z_stream stream_{};
  int level_ = 0;
  bool made_ = false;
};

}  // namespace

ContentEncoder* new_gzip_encoder() noexcept {
  return new (std::nothrow) GzipEncoder;
}

}  // namespace pontage::http
