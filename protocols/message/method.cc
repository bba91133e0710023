#include "protocols/message/method.h"

#include <array>
#include <cstddef>

namespace pontage::message {
namespace {

constexpr std::array<std::string_view, 30> kNames = {
    "",           "OPTIONS",  "GET",        "HEAD",   "POST",        "PUT",    "DELETE", "TRACE",  "PROPFIND",
    "PROPPATCH",  "MKCOL",    "COPY",       "MOVE",   "LOCK",        "UNLOCK", "ACL",    "REPORT", "VERSION-CONTROL",
    "CHECKIN",    "CHECKOUT", "UNCHECKOUT", "SEARCH", "MKWORKSPACE", "UPDATE", "LABEL",  "MERGE",  "BASELINE-CONTROL",
    "MKACTIVITY", "PATCH",    "CONNECT"};
static_assert(kNames[static_cast<std::size_t>(Method::mkactivity)] == "MKACTIVITY");
static_assert(kNames[static_cast<std::size_t>(Method::connect)] == "CONNECT");

}  // namespace

Method parse_method(std::string_view text) noexcept {
  // Nearly every request is one of these two; the rest may pay for a walk over the names.
  if (text == "GET") return Method::get;
  if (text == "POST") return Method::post;
  for (std::size_t i = 1; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<Method>(i);
  }
  return Method::other;
}

std::string_view to_string(Method method) noexcept {
  const auto index = static_cast<std::size_t>(method);
  return index < kNames.size() ? kNames[index] : std::string_view{};
}

bool is_safe(Method method) noexcept {
  switch (method) {
    case Method::get:
    case Method::head:
    case Method::options:
    case Method::trace:
    case Method::propfind:  // RFC 4918 9.1
    case Method::report:    // RFC 3253 3.6
    case Method::search:    // RFC 5323 2
      return true;
    default: return false;
  }
}

bool is_idempotent(Method method) noexcept {
  if (is_safe(method)) return true;
  // The registry's list (RFC 9110 18.2); what is not on it is never sent twice.
  switch (method) {
    case Method::put:
    case Method::delete_:
    case Method::proppatch:
    case Method::mkcol:
    case Method::copy:
    case Method::move:
    case Method::unlock:
    case Method::acl:
    case Method::version_control:
    case Method::checkin:
    case Method::checkout:
    case Method::uncheckout:
    case Method::mkworkspace:
    case Method::update:
    case Method::label:
    case Method::merge:
    case Method::baseline_control:
    case Method::mkactivity: return true;
    default: return false;
  }
}

std::string_view metric_label(Method method) noexcept {
  switch (method) {
    case Method::get:
    case Method::head:
    case Method::post:
    case Method::put:
    case Method::delete_:
    case Method::connect:
    case Method::options:
    case Method::trace:
    case Method::patch: return to_string(method);
    default: return "other";
  }
}

}  // namespace pontage::message
