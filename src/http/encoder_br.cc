// br: libbrotlienc (RFC 7932).
#include <new>

#include <brotli/encode.h>

#include "src/http/encoder_heap.h"
#include "src/http/encoder_libraries.h"

namespace pontage::http {
namespace {

// From quality 4 on the hashers and metablocks of larger windows cost several times the memory (encoder.h).
constexpr std::uint32_t window_bits(int quality) noexcept {
  return quality < 4 ? 18 : 16;
}
constexpr std::uint32_t kBlockBits = 16;  // 64 KiB are compressed at a time, so that one step does not take long

class BrotliEncoder final : public ContentEncoder {
 public:
  BrotliEncoder() noexcept : ContentEncoder(message::ContentCoding::br) {}
  ~BrotliEncoder() override { stop(); }

  Step step(std::string_view input, std::span<char> output, Operation operation) noexcept override {
    std::size_t in = input.size();
    std::size_t room = output.size();
    const auto* from = reinterpret_cast<const std::uint8_t*>(input.data());
    auto* to = reinterpret_cast<std::uint8_t*>(output.data());
    const bool good = ::BrotliEncoderCompressStream(state_, brotli_of(operation), &in, &from, &room, &to, nullptr);
    Step step{.consumed = input.size() - in, .produced = output.size() - room, .failed = !good};
    switch (operation) {
      case Operation::more: step.done = in == 0; break;
      case Operation::flush: step.done = in == 0 && !::BrotliEncoderHasMoreOutput(state_); break;
      case Operation::finish: step.done = ::BrotliEncoderIsFinished(state_) != BROTLI_FALSE; break;
    }
    return step;
  }

  std::size_t memory() const noexcept override { return sizeof *this + heap_.held(); }

 private:
  bool start(int quality) noexcept override {
    stop();
    heap_.set_limit(most_encoder_memory(coding(), quality) - sizeof *this);
    state_ = ::BrotliEncoderCreateInstance(&EncoderHeap::allocate_for, &EncoderHeap::free_for, &heap_);
    if (state_ == nullptr) return false;
    ::BrotliEncoderSetParameter(state_, BROTLI_PARAM_QUALITY, static_cast<std::uint32_t>(quality));
    ::BrotliEncoderSetParameter(state_, BROTLI_PARAM_LGWIN, window_bits(quality));
    ::BrotliEncoderSetParameter(state_, BROTLI_PARAM_LGBLOCK, kBlockBits);
    return true;
  }
  void stop() noexcept {
    if (state_ != nullptr) ::BrotliEncoderDestroyInstance(state_);
    state_ = nullptr;
  }
  static BrotliEncoderOperation brotli_of(Operation operation) noexcept {
    switch (operation) {
      case Operation::more: return BROTLI_OPERATION_PROCESS;
      case Operation::flush: return BROTLI_OPERATION_FLUSH;
      case Operation::finish: return BROTLI_OPERATION_FINISH;
    }
    return BROTLI_OPERATION_PROCESS;
  }

  EncoderHeap heap_;
  BrotliEncoderState* state_ = nullptr;
};

}  // namespace

ContentEncoder* new_brotli_encoder() noexcept {
  return new (std::nothrow) BrotliEncoder;
}

}  // namespace pontage::http
