// The ordered list of routes: the first whose conditions hold decides. Built when the configuration is loaded;
// immutable, shared by all workers; asked once per request by the session, before any handler runs.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "protocols/message/head.h"
#include "src/config/config.h"
#include "src/routing/matcher.h"

namespace pontage::routing {

struct RouteMatch {
  std::size_t index = 0;     // into Config::routes
  bool bare_prefix = false;  // the path is `/x` and the route says `/x/*`: files redirect to `/x/`
};

class RouteTable {
 public:
  explicit RouteTable(const config::Config& config);

  // nullopt when no route matches: 404. Allocates nothing.
  std::optional<RouteMatch> match(const message::RequestHead& head, const message::CanonicalPath& path) const noexcept;
  std::size_t size() const noexcept { return routes_.size(); }

 private:
  std::vector<Matcher> routes_;
};

}  // namespace pontage::routing
