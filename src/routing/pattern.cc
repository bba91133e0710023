#include "src/routing/pattern.h"

#include <cstdint>

namespace pontage::routing {
namespace {

constexpr std::int64_t kRegexMemory = 1 << 20;

// What parse_target would refuse in a request and so has to be escaped there.
bool is_escaped_in_targets(char c) {
  const auto u = static_cast<unsigned char>(c);
  return u <= 0x20 || u >= 0x7f || std::string_view("\"<>^`{|}").find(c) != std::string_view::npos;
}

}  // namespace

std::string canonical_pattern(std::string_view path, message::Slashes slashes) {
  std::string escaped;
  for (const char c : path) {
    if (!is_escaped_in_targets(c)) {
      escaped += c;
      continue;
    }
    const auto u = static_cast<unsigned char>(c);
    constexpr std::string_view kHex = "0123456789ABCDEF";
    escaped += {'%', kHex[u >> 4], kHex[u & 15]};
  }
  message::Arena arena;
  const auto canonical = message::canonical_path(escaped, slashes, arena);
  return canonical ? std::string(canonical->match) : std::string{};
}

std::unique_ptr<const re2::RE2> compile_regex(std::string_view expression) {
  re2::RE2::Options options;
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  options.set_max_mem(kRegexMemory);
  options.set_log_errors(false);
  options.set_never_nl(true);
  return std::make_unique<const re2::RE2>(re2::StringPiece(expression.data(), expression.size()), options);
}

}  // namespace pontage::routing
