// Where the problems of one configuration are gathered while it is read and checked. Owned by load.cc; control thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/config/load.h"

namespace pontage::config {

// Where values stood: "routes[3].proxy", "backends.app.servers[0].url", "backends.app".
using Places = std::map<std::string, Place, std::less<>>;

class Problems {
 public:
  // A file with more problems than this is not a configuration; the rest is dropped, with a line that says so.
  static constexpr std::size_t kMost = 100;

  void error(Place place, std::string message) { add({Severity::error, place, std::move(message)}); }
  void warning(Place place, std::string message) { add({Severity::warning, place, std::move(message)}); }
  // In file order; those without a position come first.
  std::vector<Problem> take();

 private:
  void add(Problem problem);

  std::vector<Problem> list_;
  std::size_t dropped_ = 0;
};

}  // namespace pontage::config
