#include "src/observe/escape.h"

#include <array>
#include <cstring>

namespace pontage::observe {
namespace {

constexpr unsigned char byte(char c) noexcept {
  return static_cast<unsigned char>(c);
}

enum Plain : std::uint8_t { kInQuotes = 1, kInWord = 2, kInText = 4 };
constexpr std::array<std::uint8_t, 256> make_plain() {
  std::array<std::uint8_t, 256> plain{};
  for (unsigned c = 0x20; c < 0x7f; ++c) {
    plain[c] = kInText;
    if (c != '"' && c != '\\') plain[c] |= kInQuotes;
    if (c != '"' && c != '\\' && c != ' ') plain[c] |= kInWord;
  }
  return plain;
}
constexpr std::array<std::uint8_t, 256> kPlain = make_plain();

void append_hex_byte(wire::Sink& out, std::string_view prefix, unsigned char c) noexcept {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  out.append(prefix);
  out.append(kHex[c >> 4]);
  out.append(kHex[c & 15]);
}

constexpr std::uint64_t each_byte(unsigned c) noexcept {
  return 0x0101010101010101ULL * c;
}
constexpr std::uint64_t has_zero(std::uint64_t v) noexcept {
  return (v - each_byte(0x01)) & ~v & each_byte(0x80);
}

// True when all eight bytes are kInQuotes; now and then false although they are.
bool eight_plain(const char* text) noexcept {
  std::uint64_t v = 0;
  std::memcpy(&v, text, sizeof v);
  const std::uint64_t control = (v - each_byte(0x20)) & ~v & each_byte(0x80);
  const std::uint64_t special =
      has_zero(v ^ each_byte('"')) | has_zero(v ^ each_byte('\\')) | has_zero(v ^ each_byte(0x7f));
  return (control | special | (v & each_byte(0x80))) == 0;
}

// Appends the run of plain bytes at `at` and returns where it ends.
std::size_t append_run(wire::Sink& out, std::string_view text, std::size_t at, Plain kind) noexcept {
  std::size_t end = at;
  if (kind != kInWord) {
    while (end + 8 <= text.size() && eight_plain(text.data() + end)) end += 8;
  }
  while (end < text.size() && (kPlain[byte(text[end])] & kind) != 0) ++end;
  out.append(text.substr(at, end - at));
  return end;
}

void append_with(wire::Sink& out, std::string_view text, Plain kind) noexcept {
  for (std::size_t at = append_run(out, text, 0, kind); at < text.size(); at = append_run(out, text, at + 1, kind)) {
    append_hex_byte(out, "\\x", byte(text[at]));
  }
}

bool is_continuation(char c) noexcept {
  return (byte(c) & 0xc0) == 0x80;
}
// U+0080..U+009F: a terminal may take them for escapes.
bool is_c1(std::string_view sequence) noexcept {
  return sequence.size() == 2 && byte(sequence[0]) == 0xc2 && byte(sequence[1]) < 0xa0;
}

void append_json_ascii(wire::Sink& out, char c) noexcept {
  switch (c) {
    case '"': return out.append("\\\"");
    case '\\': return out.append("\\\\");
    case '\n': return out.append("\\n");
    case '\r': return out.append("\\r");
    case '\t': return out.append("\\t");
    default: return append_hex_byte(out, "\\u00", byte(c));
  }
}

}  // namespace

void append_escaped(wire::Sink& out, std::string_view text) noexcept {
  append_with(out, text, kInQuotes);
}

void append_escaped_word(wire::Sink& out, std::string_view text) noexcept {
  append_with(out, text.empty() ? "-" : text, kInWord);
}

std::size_t utf8_length(std::string_view text) noexcept {
  const unsigned char lead = byte(text[0]);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  const unsigned char second = byte(text[1]);
  if (lead == 0xe0 && second < 0xa0) return 0;  // overlong
  if (lead == 0xed && second > 0x9f) return 0;  // surrogates
  if (lead == 0xf0 && second < 0x90) return 0;  // overlong
  if (lead == 0xf4 && second > 0x8f) return 0;  // above U+10FFFF
  return length;
}

void append_json_escaped(wire::Sink& out, std::string_view text) noexcept {
  std::size_t at = append_run(out, text, 0, kInQuotes);
  while (at < text.size()) {
    const std::size_t length = utf8_length(text.substr(at));
    const std::string_view sequence = text.substr(at, length);
    if (length == 0) {
      out.append("\\ufffd");
    } else if (length == 1) {
      append_json_ascii(out, text[at]);
    } else if (is_c1(sequence)) {
      append_hex_byte(out, "\\u00", byte(sequence[1]));
    } else {
      out.append(sequence);
    }
    at = append_run(out, text, at + (length == 0 ? 1 : length), kInQuotes);
  }
}

void append_printable(wire::Sink& out, std::string_view text) noexcept {
  std::size_t at = append_run(out, text, 0, kInText);
  while (at < text.size()) {
    const std::size_t length = utf8_length(text.substr(at));
    const std::string_view sequence = text.substr(at, length);
    if (length > 1 && !is_c1(sequence)) {
      out.append(sequence);
      at += length;
    } else {
      append_hex_byte(out, "\\x", byte(text[at]));
      at += 1;
      if (length == 2) {  // the other half of a C1
        append_hex_byte(out, "\\x", byte(text[at]));
        at += 1;
      }
    }
    at = append_run(out, text, at, kInText);
  }
}

}  // namespace pontage::observe
