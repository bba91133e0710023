// From one scalar's text to the Value its key asks for, within the key's bounds. Called by the reader; pure.
#pragma once

#include <string_view>

#include "src/config/scalars.h"
#include "src/config/table.h"

namespace pontage::config {

enum class Quoting : std::uint8_t { plain, quoted };

// For the types of one scalar; `text` has its variables replaced. The error is a sentence without the value.
Parsed<Value> parse_value(const Key& key, std::string_view text, Quoting quoting);
// "a duration such as 10s", for messages.
std::string_view describe(Type type) noexcept;
// A number as the file would say it: "10s" for a duration.
std::string format_number(Type type, std::int64_t number);

}  // namespace pontage::config
