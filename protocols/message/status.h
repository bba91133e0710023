// Status codes: reason phrases (RFC 9110 15 and the registry) and classes. Pure; any thread.
#pragma once

#include <string_view>

namespace pontage::message {

// The registered reason phrase, or "Unknown" for a code without one.
std::string_view reason_phrase(int status) noexcept;

constexpr bool is_interim(int status) noexcept {
  return status >= 100 && status < 200;
}
// 1xx, 204 and 304 never have content (RFC 9110 6.4.1).
constexpr bool forbids_body(int status) noexcept {
  return is_interim(status) || status == 204 || status == 304;
}

}  // namespace pontage::message
