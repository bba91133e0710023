// Loads a text and gives its problems in a form that tests compare: "line:column error message".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/config/load.h"

namespace pontage::config {

inline std::vector<std::string> problems_of(const Loaded& loaded) {
  std::vector<std::string> out;
  for (const auto& problem : loaded.problems) {
    out.push_back(std::to_string(problem.place.line) + ":" + std::to_string(problem.place.column) +
                  (problem.severity == Severity::error ? " error " : " warning ") + problem.message);
  }
  return out;
}

inline std::vector<std::string> problems_of(std::string_view text) {
  return problems_of(load_text("t.yaml", text));
}

// A text that is fine by itself, for tests of one key more.
inline std::string with(std::string_view more) {
  return "listeners: [\":8080\"]\nroutes: [{ respond: hello }]\n" + std::string(more) + "\n";
}

// The same for keys of one backend `app`, each line indented by four spaces.
inline std::string with_backend(std::string_view keys) {
  return "listeners: [\":8080\"]\nroutes: [{ proxy: app }]\nbackends:\n  app:\n" + std::string(keys) + "\n";
}

// The same for keys of one route, each line indented by four spaces; the first stands behind the dash.
inline std::string with_route(std::string_view keys) {
  return "listeners: [\":8080\"]\nroutes:\n  - " + std::string(keys) + "\n";
}

}  // namespace pontage::config
