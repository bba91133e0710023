// Request methods. The nine of RFC 9110/5789 plus those AJP has a code for (ADAPTERS A5); any other token is
// `other` and keeps its text in RequestHead::method_text. Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace pontage::message {

enum class Method : std::uint8_t {
  other = 0,
  // The AJP codes 1..27, in their order.
  options,
  get,
  head,
  post,
  put,
  delete_,
  trace,
  propfind,
  proppatch,
  mkcol,
  copy,
  move,
  lock,
  unlock,
  acl,
  report,
  version_control,
  checkin,
  checkout,
  uncheckout,
  search,
  mkworkspace,
  update,
  label,
  merge,
  baseline_control,
  mkactivity,
  patch,
  connect,
};

// Methods are case-sensitive (RFC 9110 9.1): "get" is `other`.
Method parse_method(std::string_view text) noexcept;
// The method's text; empty for `other`.
std::string_view to_string(Method method) noexcept;

// RFC 9110 9.2.1 and 9.2.2; `other` is neither.
bool is_safe(Method method) noexcept;
bool is_idempotent(Method method) noexcept;

// One of the nine standard methods or "other": the only values of the `method` label.
std::string_view metric_label(Method method) noexcept;

}  // namespace pontage::message
