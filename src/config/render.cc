// How problems look: `file:line:column: error: sentence`, which editors parse, the source line, and a caret.
#include <algorithm>

#include "src/config/document.h"
#include "src/config/load.h"

namespace pontage::config {
namespace {

constexpr std::size_t kWidth = 110;  // source bytes shown of a line

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// The source line and the caret below it, each indented by two spaces; only the part around the caret of a long line.
// Tabs stay tabs in both, so that the caret stands right whatever their width; a character of several bytes counts
// once.
std::string excerpt(std::string_view line, std::size_t column) {
  column = std::min(column, line.size());
  std::size_t from = column > kWidth * 3 / 4 ? column - kWidth / 2 : 0;
  while (from > 0 && is_continuation(line[from])) --from;
  auto shown = line.substr(from, kWidth);
  while (!shown.empty() && from + shown.size() < line.size() && is_continuation(line[from + shown.size()]))
    shown.remove_suffix(1);
  std::string source = from > 0 ? "  ..." : "  ";
  std::string caret(source.size(), ' ');
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const char c = shown[i];
    const auto byte = static_cast<unsigned char>(c);
    source += (byte < 0x20 && c != '\t') || byte == 0x7f ? '?' : c;
    if (from + i < column && !is_continuation(c)) caret += c == '\t' ? '\t' : ' ';
  }
  if (from + shown.size() < line.size()) source += "...";
  return source + "\n" + caret + "^\n";
}

}  // namespace

bool Loaded::ok() const noexcept {
  return std::none_of(problems.begin(), problems.end(), [](const Problem& p) { return p.severity == Severity::error; });
}

std::string render(const Loaded& loaded) {
  std::string out;
  for (const auto& problem : loaded.problems) {
    out += loaded.config.file;
    if (problem.place.line > 0) {
      out += ":" + std::to_string(problem.place.line) + ":" + std::to_string(problem.place.column);
    }
    out += problem.severity == Severity::error ? ": error: " : ": warning: ";
    out += problem.message + "\n";
    if (problem.place.line <= 0) continue;
    const auto line = line_of(loaded.text, problem.place.line);
    if (!line.empty()) out += excerpt(line, static_cast<std::size_t>(std::max(problem.place.column - 1, 0)));
  }
  return out;
}

}  // namespace pontage::config
