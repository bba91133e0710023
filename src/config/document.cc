#include "src/config/document.h"

#include <algorithm>
#include <exception>
#include <string>

namespace pontage::config {
namespace {

// Bytes of the well-formed UTF-8 sequence that `text` begins with (RFC 3629); 0 when it is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 && first < 0xf5   ? 4
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xc2 && first < 0xe0 ? 2
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
  return length;
}

bool bytes_are_text(std::string_view text, Problems& problems) {
  Place place{1, 1};
  for (std::size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    const auto length = utf8_length(text.substr(at));
    if (length == 0) {
      problems.error(place, "this byte is not UTF-8");
      return false;
    }
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f) {
      problems.error(place, "a control character cannot stand in a configuration");
      return false;
    }
    at += length;
    place.column += static_cast<int>(length);
    if (c == '\n') place = {place.line + 1, 1};
  }
  return true;
}

// Where an unquoted `${` stands inside { } or [ ], at or before the line of the complaint: its `}` closed the braces
// too early. Quotes and comments are followed well enough to find the usual case.
std::optional<Place> unquoted_variable(std::string_view text, int last_line) {
  int depth = 0;
  char quote = 0;
  Place place{1, 1};
  char before = '\n';
  for (std::size_t at = 0; at < text.size() && place.line <= last_line; ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if ((c == '"' || c == '\'') && (before == ' ' || before == '{' || before == '[' || before == ',')) {
      quote = c;
    } else if (c == '#' && (before == ' ' || before == '\n' || before == '\t')) {
      const auto end = text.find('\n', at);
      if (end == std::string_view::npos) break;
      at = end;
      place = {place.line + 1, 1};
      before = '\n';
      continue;
    } else if (c == '{' && before == '$') {
      if (depth > 0) return Place{place.line, place.column - 1};
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
    before = c;
    place = c == '\n' ? Place{place.line + 1, 1} : Place{place.line, place.column + 1};
  }
  return std::nullopt;
}

Problem explain(std::string_view text, const YAML::Exception& exception) {
  Place place = place_of(exception.mark);
  const std::string& said = exception.msg;
  const auto has = [&](std::string_view part) { return said.find(part) != std::string::npos; };
  const auto line = line_of(text, place.line);
  const auto indent = line.substr(0, line.find_first_not_of(" \t"));
  if (has("flow")) {
    if (const auto variable = unquoted_variable(text, place.line)) {
      return {Severity::error, *variable,
              "an unquoted `${...}` inside { } or [ ] ends them at its `}`: quote it, \"${NAME}\""};
    }
    const bool map = has("map");
    return {Severity::error, place,
            std::string("a `") + (map ? '{' : '[') + "` before this has no `" + (map ? '}' : ']') +
                "`, or a comma is missing"};
  }
  if (indent.find('\t') != std::string_view::npos)
    return {Severity::error, place, "YAML does not indent with tabs: use spaces"};
  if (has("anchor is not defined") || has("alias")) {
    return {Severity::error, place,
            "an unquoted `*` begins an alias in YAML: quote the value, as in \"*.example.org\""};
  }
  if (has("anchor")) return {Severity::error, place, "an unquoted `&` begins an anchor in YAML: quote the value"};
  if (has("unknown token"))
    return {Severity::error, place, "no value begins with this character in YAML: quote the value"};
  if (has("illegal map value")) {
    return {Severity::error, place, "a `: ` cannot stand here: quote the value, or check the indentation"};
  }
  if (has("end of map") || has("end of sequence")) {
    return {Severity::error, place, "this line is indented like none above that it could belong to"};
  }
  if (has("bad file")) return {Severity::error, place, "this is nested too deep"};
  return {Severity::error, place, "this is no YAML: " + said};
}

}  // namespace

std::optional<YAML::Node> parse_document(std::string_view text, Problems& problems) {
  if (text.size() > kFileLimit) {
    problems.error({}, "a configuration is at most 1MiB long");
    return std::nullopt;
  }
  if (!bytes_are_text(text, problems)) return std::nullopt;
  try {
    const auto documents = YAML::LoadAll(std::string(text));
    if (documents.empty()) {
      problems.error({1, 1}, "the file is empty: it needs `listeners` and `routes`");
      return std::nullopt;
    }
    if (documents.size() > 1) {
      problems.error(place_of(documents[1].Mark()),
                     "a second YAML document begins here: a configuration is one document");
      return std::nullopt;
    }
    return documents[0];
  } catch (const YAML::Exception& exception) {
    const auto problem = explain(text, exception);
    problems.error(problem.place, problem.message);
  } catch (const std::exception&) {
    problems.error({}, "the YAML library gave up on this file");
  }
  return std::nullopt;
}

Place place_of(const YAML::Mark& mark) noexcept {
  return mark.is_null() ? Place{} : Place{mark.line + 1, mark.column + 1};
}

std::string_view line_of(std::string_view text, int line) noexcept {
  for (int at = 1; at < line; ++at) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  auto out = text.substr(0, text.find('\n'));
  if (out.ends_with('\r')) out.remove_suffix(1);
  return out;
}

}  // namespace pontage::config
