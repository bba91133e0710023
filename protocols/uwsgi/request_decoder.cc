#include "protocols/uwsgi/request_decoder.h"

namespace pontage::uwsgi {

using wire::DecodeError;

namespace {

// A string behind its size, which is a little-endian number; nullopt when the block ends before it.
std::optional<std::string_view> next_string(std::string_view& rest) noexcept {
  if (rest.size() < 2) return std::nullopt;
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(rest[at])); };
  const std::size_t size = byte(0) | byte(1) << 8;
  if (rest.size() - 2 < size) return std::nullopt;
  const auto text = rest.substr(2, size);
  rest.remove_prefix(2 + size);
  return text;
}

}  // namespace

cgi::BlockSize Format::size(std::string_view& rest) noexcept {
  while (held_ < header_.size() && !rest.empty()) {
    header_[held_++] = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
  }
  if (held_ < header_.size()) return std::size_t{0};
  if (header_[0] != 0 || header_[3] != 0) return wire::Unexpected(DecodeError::unknown_code);
  const std::size_t size = header_[1] | std::size_t{header_[2]} << 8;
  if (size == 0) return wire::Unexpected(DecodeError::bad_length);
  return size;
}

std::optional<DecodeError> Format::read(std::string_view block, const wire::HeadLimits& limits,
                                        cgi::VariableList& list) {
  while (!block.empty()) {
    const auto name = next_string(block);
    if (!name) return DecodeError::bad_length;
    if (block.empty()) return DecodeError::bad_string;
    const auto value = next_string(block);
    if (!value) return DecodeError::bad_length;
    if (const auto error = cgi::take_variable(list, *name, *value, limits)) return error;
  }
  return {};
}

}  // namespace pontage::uwsgi
