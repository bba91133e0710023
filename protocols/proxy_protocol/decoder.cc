#include "protocols/proxy_protocol/decoder.h"

#include "protocols/proxy_protocol/read.h"

namespace pontage::proxy_protocol {

using wire::DecodeError;

// Byte by byte until it is known where the header ends.
std::size_t Decoder::wanted() const noexcept {
  return kind_ == Kind::v2 ? total_ - bytes_.size() : 1;
}

std::optional<DecodeError> Decoder::look_at_beginning() noexcept {
  const std::string_view have = bytes_;
  if (kBeginningV1.starts_with(have)) {
    if (have.size() == kBeginningV1.size()) kind_ = Kind::v1;
    return {};
  }
  if (!kSignatureV2.starts_with(have)) return DecodeError::bad_magic;
  if (have.size() == kSignatureV2.size()) {
    kind_ = Kind::v2;
    total_ = kFixedV2;
  }
  return {};
}

std::optional<DecodeError> Decoder::look() {
  if (kind_ == Kind::unknown) return look_at_beginning();
  if (kind_ == Kind::v1) {
    if (bytes_.back() != '\n') {
      if (bytes_.size() == kLargestV1) return DecodeError::header_too_long;
      return {};
    }
    complete_ = true;
    return read_v1(bytes_, header_);
  }
  if (bytes_.size() < total_) return {};
  if (total_ == kFixedV2) {
    const auto size = read_v2_size(bytes_);
    if (!size) return size.error();
    total_ = *size;
    if (bytes_.size() < total_) return {};
  }
  complete_ = true;
  return read_v2(bytes_, header_);
}

wire::Expected<Decoder::Step, DecodeError> Decoder::decode(std::string_view input) {
  Step step;
  while (!failed_ && !complete_ && step.consumed < input.size()) {
    const auto part = input.substr(step.consumed, wanted());
    bytes_.append(part);
    step.consumed += part.size();
    failed_ = look();
  }
  if (failed_) return wire::Unexpected(*failed_);
  step.complete = complete_;
  return step;
}

}  // namespace pontage::proxy_protocol
