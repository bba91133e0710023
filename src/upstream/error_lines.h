// What a server or a script says on its error stream, cut into lines for the log. Pure; one per stream.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace pontage::upstream {

inline constexpr std::size_t kMostLine = 2048;  // bytes of a line that are kept

// Appends `text` to the line begun in `line`; whenever one has ended, `tell()` is called to log `line` and to clear it.
template <class Tell>
void cut_lines(std::string& line, std::string_view text, Tell tell) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    line.append(text.substr(0, std::min(end, kMostLine - std::min(kMostLine, line.size()))));
    if (end == text.size()) return;
    tell();
    text.remove_prefix(end + 1);
  }
}

}  // namespace pontage::upstream
