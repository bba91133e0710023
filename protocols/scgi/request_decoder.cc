#include "protocols/scgi/request_decoder.h"

#include "protocols/wire/ascii.h"

namespace pontage::scgi {

using wire::DecodeError;

namespace {

constexpr std::size_t kMostDigits = 9;

// The text before the next NUL, which goes with it; nullopt without one.
std::optional<std::string_view> next_word(std::string_view& rest) noexcept {
  const auto end = rest.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  const auto word = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return word;
}

}  // namespace

cgi::BlockSize Format::size(std::string_view& rest) noexcept {
  const auto refuse = wire::Unexpected(DecodeError::bad_length);
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == ':' && digits_ > 0) return size_ + 1;  // with its comma
    const bool leading_zero = digits_ == 0 && c == '0';
    if (!wire::is_digit(c) || leading_zero || digits_ == kMostDigits) return refuse;
    size_ = size_ * 10 + static_cast<std::size_t>(c - '0');
    ++digits_;
  }
  return std::size_t{0};
}

std::optional<DecodeError> Format::read(std::string_view block, const wire::HeadLimits& limits,
                                        cgi::VariableList& list) {
  if (!block.ends_with(',')) return DecodeError::bad_length;
  block.remove_suffix(1);
  while (!block.empty()) {
    const auto name = next_word(block);
    const auto value = name ? next_word(block) : std::nullopt;
    if (!value) return DecodeError::bad_string;
    if (const auto error = cgi::take_variable(list, *name, *value, limits)) return error;
  }
  const auto* first = list.begin();
  if (first->name != "CONTENT_LENGTH" || first->value.empty()) return DecodeError::bad_content_length;
  const auto* mark = list.find("SCGI");
  if (mark == nullptr || mark->value != "1") return DecodeError::bad_magic;
  return {};
}

}  // namespace pontage::scgi
