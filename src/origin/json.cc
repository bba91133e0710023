#include "src/origin/json.h"

#include <charconv>

namespace pontage::origin {

void Json::separate() {
  if (comma_) out_->push_back(',');
  comma_ = true;
}

void Json::open(char bracket) {
  separate();
  out_->push_back(bracket);
  comma_ = false;
}

void Json::close(char bracket) {
  out_->push_back(bracket);
  comma_ = true;
}

void Json::key(std::string_view name) {
  separate();
  quote(name);
  out_->push_back(':');
  comma_ = false;
}

void Json::text(std::string_view value) {
  separate();
  quote(value);
}

void Json::number(std::uint64_t value) {
  separate();
  char digits[20];
  const auto done = std::to_chars(digits, digits + sizeof digits, value);
  out_->append(digits, done.ptr);
}

void Json::flag(bool value) {
  separate();
  out_->append(value ? "true" : "false");
}

void Json::quote(std::string_view value) {
  constexpr char kHex[] = "0123456789abcdef";
  out_->push_back('"');
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out_->push_back('\\');
      out_->push_back(c);
    } else if (byte < 0x20 || byte > 0x7e) {
      out_->append("\\u00");
      out_->push_back(kHex[byte >> 4]);
      out_->push_back(kHex[byte & 15]);
    } else {
      out_->push_back(c);
    }
  }
  out_->push_back('"');
}

}  // namespace pontage::origin
