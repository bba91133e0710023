#include "protocols/message/target.h"

#include <array>
#include <cstddef>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "protocols/wire/ascii.h"

namespace pontage::message {
namespace {

using wire::DecodeError;

// What may stand in a path or a query: the visible ASCII characters but '#' (a fragment is never sent) and the
// quote and angle brackets, which end a URI in text. Strictly RFC 3986 forbids \ ^ ` { | } too, yet browsers send them
// raw (WHATWG URL, query percent-encode set), so refusing them would refuse real users.
constexpr std::array<bool, 256> make_target_table() {
  std::array<bool, 256> table{};
  for (unsigned c = 0x21; c < 0x7f; ++c) table[c] = c != '#' && c != '"' && c != '<' && c != '>';
  return table;
}
constexpr std::array<bool, 256> kTargetChar = make_target_table();

#if defined(__SSE2__)
// The same table for sixteen bytes at once: bytes above 0x7f are negative, so that one signed compare takes them
// together with the controls and the space.
bool sixteen_target_chars(const char* at) noexcept {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  const auto is = [&](char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
  const __m128i low = _mm_cmplt_epi8(bytes, _mm_set1_epi8('!'));
  const __m128i quoted = _mm_or_si128(_mm_or_si128(is('"'), is('#')), _mm_or_si128(is('<'), is('>')));
  return _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(low, is(0x7f)), quoted)) == 0;
}
#endif

bool all_target_chars(std::string_view text) noexcept {
  std::size_t at = 0;
#if defined(__SSE2__)
  for (; at + 16 <= text.size(); at += 16) {
    if (!sixteen_target_chars(text.data() + at)) return false;
  }
  // The last sixteen overlap what has been looked at already.
  if (at != 0) return at == text.size() || sixteen_target_chars(text.data() + text.size() - 16);
#endif
  for (; at < text.size(); ++at) {
    if (!kTargetChar[static_cast<unsigned char>(text[at])]) return false;
  }
  return true;
}

void split_query(std::string_view text, Target& target) noexcept {
  const auto mark = text.find('?');
  target.raw_path = text.substr(0, mark);
  if (mark != std::string_view::npos) {
    target.has_query = true;
    target.query = text.substr(mark + 1);
  }
}

// scheme "://" authority [path] ["?" query]; false when it is no http or https URI.
bool split_absolute(std::string_view text, Target& target) noexcept {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || text.substr(colon, 3) != "://") return false;
  target.scheme = text.substr(0, colon);
  if (!wire::iequals(target.scheme, "http") && !wire::iequals(target.scheme, "https")) return false;
  const auto rest = text.substr(colon + 3);
  const auto end = rest.find_first_of("/?");
  target.authority = rest.substr(0, end);
  split_query(end == std::string_view::npos ? std::string_view{} : rest.substr(end), target);
  if (target.raw_path.empty()) target.raw_path = "/";
  return parse_authority(target.authority).has_value();
}

}  // namespace

wire::Expected<Target, DecodeError> parse_target(std::string_view text, Method method) noexcept {
  const auto refuse = wire::Unexpected(DecodeError::malformed_target);
  if (text.empty() || !all_target_chars(text)) return refuse;
  Target target;
  if (method == Method::connect) {
    // RFC 9110 9.3.6: there is no default port here.
    const auto authority = parse_authority(text);
    if (!authority || authority->port == 0) return refuse;
    target.form = TargetForm::authority;
    target.authority = text;
    return target;
  }
  if (text[0] == '/') {
    split_query(text, target);
    return target;
  }
  if (text == "*") {
    if (method != Method::options) return refuse;
    target.form = TargetForm::asterisk;
    target.raw_path = text;
    return target;
  }
  target.form = TargetForm::absolute;
  if (!split_absolute(text, target)) return refuse;
  return target;
}

}  // namespace pontage::message
