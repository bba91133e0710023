#include "src/origin/query.h"

#include <algorithm>

#include "protocols/wire/ascii.h"

namespace pontage::origin {
namespace {

constexpr std::uint64_t kMaxWaitMs = 60'000;
constexpr std::uint64_t kMaxCpuUs = 1'000'000;
constexpr std::uint64_t kMaxLines = 1'000'000;

void set_number(std::string_view text, std::uint64_t limit, std::uint64_t& to) noexcept {
  if (const auto value = wire::parse_decimal(text)) to = std::min(*value, limit);
}

void set_option(std::string_view name, std::string_view value, Options& options) noexcept {
  if (name == "ms") {
    set_number(value, kMaxWaitMs, options.ms);
  } else if (name == "cpu") {
    set_number(value, kMaxCpuUs, options.cpu_us);
  } else if (name == "n") {
    set_number(value, kMaxLines, options.lines);
  } else if (name == "token") {
    options.token = value;
  } else if (name == "key") {
    options.key = value;
  } else if (name == "chunked") {
    options.chunked = value == "1";
  } else if (name == "trailer") {
    options.trailer = value == "1";
  } else if (name == "close") {
    options.close = value == "1";
  } else if (name == "read") {
    options.read = value == "1";
  }
}

}  // namespace

Options parse_options(std::string_view query) noexcept {
  Options options;
  while (!query.empty()) {
    const auto pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const auto equals = pair.find('=');
    if (equals != std::string_view::npos) set_option(pair.substr(0, equals), pair.substr(equals + 1), options);
  }
  return options;
}

std::string_view next_segment(std::string_view& path) noexcept {
  while (!path.empty()) {
    if (path.front() == '/') {
      path.remove_prefix(1);
      continue;
    }
    const auto segment = path.substr(0, path.find('/'));
    path.remove_prefix(segment.size());
    const auto name = segment.substr(0, segment.find(';'));
    if (!name.empty()) return name;
  }
  return {};
}

}  // namespace pontage::origin
