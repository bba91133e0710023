#include "src/upstream/backend.h"

#include <algorithm>
#include <array>

#include "src/upstream/sticky.h"

namespace pontage::upstream {

Backend::Backend(const config::Backend& config, std::vector<std::shared_ptr<BackendServer>> servers,
                 std::size_t workers)
    : name_(config.name), config_(config), servers_(std::move(servers)) {
  config_.secret.clear();  // the servers have it; copies of secrets are not kept around
  for (const auto& server : config.servers) {
    weights_.push_back(server.weight);
    speaks_cgi_ = speaks_cgi_ || config::speaks_cgi(server.url.adapter);
  }
  for (std::size_t i = 0; i < workers; ++i) workers_.push_back(std::make_unique<PerWorker>());
}

void Backend::note_request(unsigned worker) const noexcept {
  std::int64_t& stock = workers_[worker]->retry_stock;
  stock = std::min<std::int64_t>(stock + config_.retry.budget_percent, 1000 * 100);
}

bool Backend::may_retry(unsigned worker) const noexcept {
  std::int64_t& stock = workers_[worker]->retry_stock;
  if (stock < 100) return false;
  stock -= 100;
  return true;
}

Backend::Choice::Choice(const Backend& backend, const http::Exchange& exchange)
    : backend_(&backend), exchange_(&exchange) {}

const std::shared_ptr<BackendServer>* Backend::Choice::next() {
  const auto& servers = backend_->servers_;
  const std::size_t count = std::min(servers.size(), kMostServers);
  const std::uint64_t now = exchange_->reactor().now_ms();
  if (!looked_at_session_) {
    looked_at_session_ = true;
    std::size_t named = kNobody;
    for_each_route(backend_->config_.sticky, exchange_->request, [&](std::string_view route) {
      for (std::size_t i = 0; i < count; ++i) {
        if (servers[i]->name() == route && servers[i]->usable(now)) named = i;
      }
      return named != kNobody;
    });
    if (named != kNobody) {
      tried_ |= 1ULL << named;
      return &servers[named];
    }
  }
  std::array<Candidate, kMostServers> candidates;
  auto choose = [&](bool healthy_only) {
    for (std::size_t i = 0; i < count; ++i) {
      const bool fresh = (tried_ >> i & 1) == 0;
      candidates[i] = {backend_->weights_[i], fresh && (!healthy_only || servers[i]->usable(now))};
    }
    return backend_->workers_[exchange_->reactor().id()]->balancer.pick(std::span(candidates.data(), count));
  };
  std::size_t chosen = choose(true);
  if (chosen == kNobody) chosen = choose(false);
  if (chosen == kNobody) return nullptr;
  tried_ |= 1ULL << chosen;
  return &servers[chosen];
}

}  // namespace pontage::upstream
