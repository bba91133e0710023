#include "src/upstream/balancer.h"

namespace pontage::upstream {

std::size_t RoundRobin::pick(std::span<const Candidate> candidates) {
  current_.resize(candidates.size(), 0);
  std::int64_t total = 0;
  std::size_t best = kNobody;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].eligible || candidates[i].weight <= 0) continue;
    current_[i] += candidates[i].weight;
    total += candidates[i].weight;
    if (best == kNobody || current_[i] > current_[best]) best = i;
  }
  if (best != kNobody) current_[best] -= total;
  return best;
}

}  // namespace pontage::upstream
