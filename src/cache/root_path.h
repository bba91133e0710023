// The way to a root: which names decide where a path leads. Blocking system calls; holds no state.
#pragma once

#include <string>
#include <vector>

namespace pontage::cache {

// The path leads elsewhere when `name` changes in `directory`.
struct Turn {
  std::string directory;  // free of links
  std::string name;
  friend bool operator==(const Turn&, const Turn&) = default;
};

// Every link on the way of `path`, with the links that those lead to, and the last component; where the way breaks off,
// the name that is missing. Other directories on the way are not among them: renaming one is left to the recheck
// window. In the order of the way, 64 at most.
std::vector<Turn> turns_of(const std::string& path);

}  // namespace pontage::cache
