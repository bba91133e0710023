#include "src/config/problems.h"

#include <algorithm>

namespace pontage::config {
namespace {

// Messages quote names from the file: no control byte of theirs reaches a terminal, and no name fills it.
std::string printable(std::string text) {
  constexpr std::size_t kMost = 500;
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

}  // namespace

std::vector<Problem> Problems::take() {
  std::stable_sort(list_.begin(), list_.end(), [](const Problem& a, const Problem& b) {
    return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
  });
  if (dropped_ > 0) list_.push_back({Severity::error, {}, "there are " + std::to_string(dropped_) + " more problems"});
  dropped_ = 0;
  return std::exchange(list_, {});
}

void Problems::add(Problem problem) {
  problem.message = printable(std::move(problem.message));
  if (list_.size() < kMost) {
    list_.push_back(std::move(problem));
  } else {
    ++dropped_;
  }
}

}  // namespace pontage::config
