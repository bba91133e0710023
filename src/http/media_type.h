// Whether a Content-Type is among those a configuration names. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pontage::http {

// Whether the type in `content_type` (with or without parameters, in any case) is `pattern`: "text/css", or "text/*"
// for the whole group, in lower case. An empty content type matches nothing.
bool media_type_matches(std::string_view content_type, std::string_view pattern) noexcept;
bool media_type_matches(std::string_view content_type, std::span<const std::string> patterns) noexcept;

}  // namespace pontage::http
