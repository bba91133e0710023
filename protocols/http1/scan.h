// Finds the next byte that ends or spoils a line. Used by the head and body decoders; pure, any thread. The SSE2 form
// and its scalar twin give the same answer for every input (tests/unit/http1/scan_test.cc, tests/fuzz), and neither
// reads outside [at, end).
#pragma once

#include <bit>
#include <cstddef>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "protocols/wire/ascii.h"

namespace pontage::http1 {

// The first control byte (0x00..0x1f but HTAB, and 0x7f), or `end`. What it passes over is legal in a field value
// (RFC 9110 5.5): visible ASCII, SP, HTAB and obs-text.
inline const char* find_control_scalar(const char* at, const char* end) noexcept {
  while (at != end && wire::is_field_value_char(*at)) ++at;
  return at;
}

inline const char* find_control(const char* at, const char* end) noexcept {
#if defined(__SSE2__)
  const __m128i highest_control = _mm_set1_epi8(0x1f);
  const __m128i tab = _mm_set1_epi8('\t');
  const __m128i del = _mm_set1_epi8(0x7f);
  for (; end - at >= 16; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    // SSE2 has no unsigned compare: a byte is at most 0x1f when the smaller of the two is the byte itself.
    const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(bytes, highest_control), bytes);
    const __m128i legal = _mm_cmpeq_epi8(bytes, tab);
    const __m128i bad = _mm_or_si128(_mm_andnot_si128(legal, low), _mm_cmpeq_epi8(bytes, del));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(bad));
    if (mask != 0) return at + std::countr_zero(mask);
  }
#endif
  return find_control_scalar(at, end);
}

// The first ':' or `end`.
inline const char* find_colon_scalar(const char* at, const char* end) noexcept {
  while (at != end && *at != ':') ++at;
  return at;
}

inline const char* find_colon(const char* at, const char* end) noexcept {
#if defined(__SSE2__)
  const __m128i colon = _mm_set1_epi8(':');
  for (; end - at >= 16; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, colon)));
    if (mask != 0) return at + std::countr_zero(mask);
  }
#endif
  return find_colon_scalar(at, end);
}

}  // namespace pontage::http1
