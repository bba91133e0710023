// From text to YAML nodes: refuses what no configuration holds (control bytes, broken UTF-8, several documents), and
// turns the YAML library's complaints into sentences that help. Called by load.cc; control thread.
#pragma once

#include <optional>
#include <string_view>

#include <yaml-cpp/yaml.h>

#include "src/config/problems.h"

namespace pontage::config {

// The largest file that is read, in bytes.
inline constexpr std::size_t kFileLimit = 1 << 20;

// The root of the only document; nullopt after a problem. Throws nothing.
std::optional<YAML::Node> parse_document(std::string_view text, Problems& problems);

// 1-based line and byte column of a node, or of an exception's mark.
Place place_of(const YAML::Mark& mark) noexcept;

// The `line`th line of the text, 1-based, without its end; empty when there is none.
std::string_view line_of(std::string_view text, int line) noexcept;

}  // namespace pontage::config
