// Random identifiers in hexadecimal: request ids, trace and span ids. Unguessable is not promised; unique is. Any
// thread.
#pragma once

#include <span>

namespace pontage::http {

// Fills `out` with lower-case hexadecimal digits.
void random_hex(std::span<char> out) noexcept;

}  // namespace pontage::http
