#include "src/upstream/sticky.h"

#include "protocols/wire/ascii.h"

namespace pontage::upstream::detail {

bool next_path_parameter(std::string_view path, std::string_view name, std::size_t& from,
                         std::string_view& value) noexcept {
  for (;;) {
    const auto semicolon = path.find(';', from);
    if (semicolon == std::string_view::npos) return false;
    const auto end = path.find_first_of(";/", semicolon + 1);
    const auto parameter = path.substr(semicolon + 1, end == std::string_view::npos ? end : end - semicolon - 1);
    from = end == std::string_view::npos ? path.size() : end;
    if (parameter.size() > name.size() && parameter[name.size()] == '=' && parameter.starts_with(name)) {
      value = parameter.substr(name.size() + 1);
      return true;
    }
  }
}

bool next_cookie(std::string_view field, std::string_view name, std::size_t& from, std::string_view& value) noexcept {
  while (from < field.size()) {
    const auto end = field.find(';', from);
    const auto pair = wire::trim_ows(field.substr(from, end == std::string_view::npos ? end : end - from));
    from = end == std::string_view::npos ? field.size() : end + 1;
    const auto equals = pair.find('=');
    if (equals == std::string_view::npos || wire::trim_ows(pair.substr(0, equals)) != name) continue;
    value = wire::trim_ows(pair.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    return true;
  }
  return false;
}

std::string_view route_of(std::string_view session_id) noexcept {
  const auto dot = session_id.find('.');
  return dot == std::string_view::npos ? std::string_view{} : session_id.substr(dot + 1);
}

}  // namespace pontage::upstream::detail
