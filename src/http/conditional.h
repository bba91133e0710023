// Conditional requests: whether the method is to be performed, answered from the client's cache, or refused (RFC 9110
// 13; CASES S04). Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocols/message/header.h"
#include "protocols/message/method.h"

namespace pontage::http {

// Of the representation as it would be sent now.
struct Validators {
  std::string_view etag;              // quoted, with W/ when weak; empty: none
  std::string_view last_modified;     // the field's text; empty: none
  std::int64_t modified_seconds = 0;  // the same time, seconds since 1970; for a non-empty last_modified
};

enum class Condition : std::uint8_t {
  proceed,
  not_modified,  // 304, GET and HEAD only
  failed,        // 412
};

// Evaluates If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since in the order of RFC 9110 13.2.2 for a
// representation that exists. `now_seconds` serves two-digit years of RFC 850 dates. Without such fields it costs one
// walk over the list.
Condition evaluate_conditions(const message::HeaderList& headers, message::Method method, const Validators& current,
                              std::int64_t now_seconds) noexcept;

// Whether a Range field counts: no If-Range, or one that names the current representation by a strong validator (RFC
// 9110 13.1.5).
enum class RangeUse : std::uint8_t { ignore, honour };
RangeUse evaluate_if_range(const message::HeaderList& headers, const Validators& current,
                           std::int64_t now_seconds) noexcept;

}  // namespace pontage::http
