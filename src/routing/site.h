// Site: one loaded configuration made ready to serve: the compiled route table and what each route does. Immutable and
// shared by all workers; an exchange holds the one it began with to its end. Built by src/gateway/site_builder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/config/config.h"
#include "src/http/forwarding.h"
#include "src/http/handler.h"
#include "src/observe/metrics.h"
#include "src/routing/rewrite.h"
#include "src/routing/route_table.h"
#include "src/upstream/backend.h"

namespace pontage::routing {

// What the metrics of a route with one adapter need, resolved when the configuration is loaded.
struct RouteSeries {
  std::uint16_t id = 0;          // the route's interned name
  std::uint16_t backend_id = 0;  // 0: none
  observe::HistogramId duration;
  observe::HistogramId toll;
  std::array<observe::HistogramId, observe::kPhases> phases;
  observe::SeriesId toll_cpu;
};

struct Route {
  std::string name;
  std::string backend;  // empty without one
  std::unique_ptr<http::Handler> handler;
  Rewriter rewrite{config::Rewrite{}};
  std::vector<config::HeaderEdit> response_headers;
  std::uint64_t body_limit = 0;
  config::Encoded encoded_slash = config::Encoded::refuse;
  config::Encoded backslash = config::Encoded::refuse;
  config::Encoded nul = config::Encoded::refuse;
  RouteSeries series;
};

struct Site {
  config::Config config;
  RouteTable table;
  std::vector<Route> routes;  // in the order of config.routes
  std::shared_ptr<const http::ForwardingPolicy> forwarding;
  std::vector<std::shared_ptr<const upstream::Backend>> backends;
  RouteSeries no_route;  // requests that matched nothing, or were refused before routing
  std::uint64_t generation = 0;
};

}  // namespace pontage::routing
