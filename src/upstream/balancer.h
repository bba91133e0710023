// Balancer: yields candidate servers in order. One instance per backend and worker; worker's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pontage::upstream {

// A server as the balancer sees it: what may be chosen now, and its share.
struct Candidate {
  int weight = 1;        // 0 takes no new sessions
  bool eligible = true;  // not tried yet in this exchange, and usable
};

inline constexpr std::size_t kNobody = ~std::size_t{0};

class Balancer {
 public:
  virtual ~Balancer() = default;
  // The index of the server to try next among the eligible ones with weight; kNobody when there is none.
  virtual std::size_t pick(std::span<const Candidate> candidates) = 0;
};

// Smooth weighted round robin: over any run of sum(weights) picks each server gets its weight, spread as evenly as can
// be.
class RoundRobin final : public Balancer {
 public:
  std::size_t pick(std::span<const Candidate> candidates) override;

 private:
  std::vector<std::int64_t> current_;
};

}  // namespace pontage::upstream
