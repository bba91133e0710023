#include "protocols/message/target.h"

#include <array>

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

bool all_target_chars(std::string_view text) noexcept {
  bool good = true;
  for (const char c : text) good &= kTargetChar[static_cast<unsigned char>(c)];
  return good;
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
