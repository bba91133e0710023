#include "src/config/secrets.h"

#include <algorithm>

#include "protocols/wire/ascii.h"
#include "src/config/addresses.h"

namespace pontage::config {
namespace {

bool is_word(char c) {
  return wire::is_alpha(c) || wire::is_digit(c) || c == '_' || c == '-';
}

void star(std::string& text, std::size_t from, std::size_t to) {
  for (std::size_t at = from; at < to; ++at) {
    if (text[at] != ' ' && text[at] != '\t' && text[at] != '\r') text[at] = '*';
  }
}

// Stars from `at` to the end of its line and over the following lines that are indented deeper than `column` (0-based)
// or blank.
void star_block(std::string& text, std::size_t at, std::size_t column) {
  auto end = std::min(text.find('\n', at), text.size());
  star(text, at, end);
  while (end < text.size()) {
    const auto start = end + 1;
    end = std::min(text.find('\n', start), text.size());
    const auto first = std::min(text.find_first_not_of(' ', start), end);
    if (first < end && first - start <= column) return;
    star(text, start, end);
  }
}

std::size_t line_start(std::string_view text, std::size_t at) {
  const auto newline = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

// How deep the lines below must be indented to belong to the value of the key at `at`: inside { } any line may continue
// it that is deeper than this line, in a block only those deeper than the key.
std::size_t key_column(std::string_view text, std::size_t at) {
  const auto start = line_start(text, at);
  const auto before = text.substr(start, at - start);
  const auto first = before.find_first_not_of(" -\"'?");
  if (first == std::string_view::npos) return before.size();
  return std::min(before.find_first_not_of(' '), before.size());
}

// The place of the value's first byte when the word that ends at `end` is a key; npos when it is none.
std::size_t value_after(std::string_view text, std::size_t end) {
  if (end < text.size() && (text[end] == '"' || text[end] == '\'')) ++end;
  while (end < text.size() && text[end] == ' ') ++end;
  return end < text.size() && text[end] == ':' ? end + 1 : std::string_view::npos;
}

}  // namespace

bool names_secret(std::string_view key) {
  const auto name = lower(key);
  if (name.ends_with("_file")) return false;
  return name.find("secret") != std::string::npos || name.find("passw") != std::string::npos;
}

std::string mask_secrets(std::string_view text, const std::vector<Place>& places) {
  std::string out(text);
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      ++at;
      continue;
    }
    auto end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    const auto value = names_secret(text.substr(at, end - at)) ? value_after(text, end) : std::string_view::npos;
    if (value != std::string_view::npos) star_block(out, value, key_column(text, at));
    at = end;
  }
  for (const auto& place : places) {
    std::size_t at = 0;
    for (int line = 1; line < place.line && at < text.size(); ++line)
      at = std::min(text.find('\n', at), text.size() - 1) + 1;
    at += static_cast<std::size_t>(std::max(place.column - 1, 0));
    if (place.line > 0 && at < text.size()) star_block(out, at, key_column(text, at));
  }
  return out;
}

}  // namespace pontage::config
