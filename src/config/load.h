// Reads a YAML file into a Config, or says everything that is wrong with it at once. Called by `check`, at start and at
// reload, on the control thread. Never resolves names, never opens listeners; reads only the file and the `*_file`
// secrets it names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/config/config.h"

namespace pontage::config {

enum class Severity : std::uint8_t { warning, error };

struct Problem {
  Severity severity = Severity::error;
  Place place;
  std::string message;  // one sentence, without position; never a secret
};

struct Loaded {
  Config config;                  // meaningful only without errors
  std::vector<Problem> problems;  // in file order
  std::string text;               // the file's text, for the carets
  bool ok() const noexcept;       // no error among the problems
};

// `file` is read; a missing or unreadable one is a problem like any other.
Loaded load_file(const std::string& file);
// The same from memory; `file` is only a name.
Loaded load_text(const std::string& file, std::string_view text);

// "conf.yaml:12:5: error: unknown key `liseners`; did you mean `listeners`?" with the source line and a caret under it,
// one per problem.
std::string render(const Loaded& loaded);

// JSON Schema (2020-12) of the file, made from the same table that the parser reads.
std::string json_schema();

}  // namespace pontage::config
