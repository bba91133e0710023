// Makes any bytes safe to print: one line stays one line, a terminal obeys nothing, JSON stays JSON (CASES G01,
// ADAPTERS X21). Pure; any thread. Nothing allocates.
#pragma once

#include <cstddef>
#include <string_view>

#include "protocols/wire/sink.h"

namespace pontage::observe {

// The longest that one byte can become in either form: \u00NN.
inline constexpr std::size_t kMaxEscape = 6;

// Quote, backslash, controls and bytes from 0x7f on become \xNN, as in nginx's log.
void append_escaped(wire::Sink& out, std::string_view text) noexcept;
// As append_escaped, for a field that has no quotes around it: the space too. An empty field is "-".
void append_escaped_word(wire::Sink& out, std::string_view text) noexcept;
// The inside of a JSON string (RFC 8259 7), always valid UTF-8: a byte that is not becomes \ufffd; C0, DEL and C1
// become \u00NN.
void append_json_escaped(wire::Sink& out, std::string_view text) noexcept;
// For the error log: valid UTF-8 stays as it is; controls (C0, DEL, C1) and bytes that are not UTF-8 become \xNN.
void append_printable(wire::Sink& out, std::string_view text) noexcept;

// The length of the UTF-8 sequence at the start of `text` (not empty); 0 when it is not well-formed (Unicode 15, table
// 3-7).
std::size_t utf8_length(std::string_view text) noexcept;

}  // namespace pontage::observe
