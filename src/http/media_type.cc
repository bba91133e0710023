#include "src/http/media_type.h"

#include "protocols/wire/ascii.h"

namespace pontage::http {

bool media_type_matches(std::string_view content_type, std::string_view pattern) noexcept {
  const std::string_view type = wire::trim_ows(content_type.substr(0, content_type.find(';')));
  if (type.empty()) return false;
  if (!pattern.ends_with("/*")) return wire::iequals(type, pattern);
  const std::string_view group = pattern.substr(0, pattern.size() - 1);
  return type.size() > group.size() && wire::iequals(type.substr(0, group.size()), group);
}

bool media_type_matches(std::string_view content_type, std::span<const std::string> patterns) noexcept {
  for (const std::string& pattern : patterns) {
    if (media_type_matches(content_type, pattern)) return true;
  }
  return false;
}

}  // namespace pontage::http
