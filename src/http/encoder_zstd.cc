// zstd: libzstd (RFC 8878; a window below the 8 MiB of RFC 9659).
#include <new>

#include <zstd.h>

#include "src/http/encoder_libraries.h"

namespace pontage::http {
namespace {

// The levels' own tables are made for long files and take up to 86 MiB; these bounds keep every level below 2.25 MiB
// for a few percent of size.
constexpr int kWindowLog = 18;
constexpr int hash_log(int level) noexcept {
  return level < 3 ? 16 : 17;
}
constexpr int chain_log(int level) noexcept {
  return level < 5 ? 16 : 17;
}
constexpr int kThreeByteMatches = 13;  // from this level on they would want a table of their own

class ZstdEncoder final : public ContentEncoder {
 public:
  ZstdEncoder() noexcept : ContentEncoder(message::ContentCoding::zstd), context_(::ZSTD_createCCtx()) {}
  ~ZstdEncoder() override { ::ZSTD_freeCCtx(context_); }

  Step step(std::string_view input, std::span<char> output, Operation operation) noexcept override {
    ZSTD_inBuffer in{input.data(), input.size(), 0};
    ZSTD_outBuffer out{output.data(), output.size(), 0};
    Step step;
    // One call may stop at a block's end with room and input left.
    while (!step.done && !step.failed && out.pos < out.size) {
      const std::size_t left = ::ZSTD_compressStream2(context_, &out, &in, zstd_of(operation));
      step.failed = ::ZSTD_isError(left) != 0;
      const bool complete = operation == Operation::more || left == 0;
      step.done = !step.failed && in.pos == in.size && complete;
    }
    step.consumed = in.pos;
    step.produced = out.pos;
    return step;
  }

  std::size_t memory() const noexcept override { return sizeof *this + ::ZSTD_sizeof_CCtx(context_); }

 private:
  bool start(int level) noexcept override {
    if (context_ == nullptr) return false;
    bool good = ::ZSTD_isError(::ZSTD_CCtx_reset(context_, ZSTD_reset_session_and_parameters)) == 0;
    const auto set = [&](ZSTD_cParameter parameter, int value) {
      good = good && ::ZSTD_isError(::ZSTD_CCtx_setParameter(context_, parameter, value)) == 0;
    };
    set(ZSTD_c_compressionLevel, level);
    set(ZSTD_c_windowLog, kWindowLog);
    set(ZSTD_c_hashLog, hash_log(level));
    set(ZSTD_c_chainLog, chain_log(level));
    if (level >= kThreeByteMatches) set(ZSTD_c_minMatch, 4);
    return good;
  }
  static ZSTD_EndDirective zstd_of(Operation operation) noexcept {
    switch (operation) {
      case Operation::more: return ZSTD_e_continue;
      case Operation::flush: return ZSTD_e_flush;
      case Operation::finish: return ZSTD_e_end;
    }
    return ZSTD_e_continue;
  }

  ZSTD_CCtx* context_;
};

}  // namespace

ContentEncoder* new_zstd_encoder() noexcept {
  return new (std::nothrow) ZstdEncoder;
}

}  // namespace pontage::http
