// Writes JSON into a string, with commas and escapes in the right places. Bytes above 0x7f are taken for Latin-1, so
// the result is JSON whatever a client sent. Owns nothing; one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pontage::origin {

class Json {
 public:
  explicit Json(std::string& out) noexcept : out_(&out) {}

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  void key(std::string_view name);
  void text(std::string_view value);
  void number(std::uint64_t value);
  void flag(bool value);
  // A key with its value.
  void text(std::string_view name, std::string_view value) {
    key(name);
    text(value);
  }
  void number(std::string_view name, std::uint64_t value) {
    key(name);
    number(value);
  }
  void flag(std::string_view name, bool value) {
    key(name);
    flag(value);
  }

 private:
  void separate();
  void open(char bracket);
  void close(char bracket);
  void quote(std::string_view value);

  std::string* out_;
  bool comma_ = false;  // something stands before at this level
};

}  // namespace pontage::origin
