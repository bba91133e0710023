#include "src/routing/route_table.h"

namespace pontage::routing {

RouteTable::RouteTable(const config::Config& config) {
  const auto slashes = config.merge_slashes ? message::Slashes::merge : message::Slashes::keep;
  routes_.reserve(config.routes.size());
  for (const auto& route : config.routes) routes_.emplace_back(route.match, slashes);
}

std::optional<RouteMatch> RouteTable::match(const message::RequestHead& head,
                                            const message::CanonicalPath& path) const noexcept {
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    const auto matched = routes_[i].match(head, path);
    if (matched != Matched::no) return RouteMatch{i, matched == Matched::bare_prefix};
  }
  return std::nullopt;
}

}  // namespace pontage::routing
