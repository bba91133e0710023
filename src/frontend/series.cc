#include "protocols/wire/decode_error.h"
#include "src/frontend/session_host.h"
#include "src/util/error.h"

namespace pontage::frontend {

using observe::Family;

SessionSeries::SessionSeries(observe::Metrics& metrics)
    : in_flight(metrics.gauge(Family::requests_in_flight)),
      request_bytes(metrics.counter(Family::request_bytes_total)),
      response_bytes(metrics.counter(Family::response_bytes_total)),
      cache_hit(metrics.counter(Family::cache_requests_total, "hit")),
      cache_miss(metrics.counter(Family::cache_requests_total, "miss")),
      cache_uncached(metrics.counter(Family::cache_requests_total, "uncached")),
      h2_streams(metrics.gauge(Family::h2_streams)),
      protocols{metrics.counter(Family::protocol_requests_total, "http/1.0"),
                metrics.counter(Family::protocol_requests_total, kHttp1Name),
                metrics.counter(Family::protocol_requests_total, kHttp2Name)},
      limit_body(metrics.counter(Family::limit_hits_total, "body")),
      limit_rate(metrics.counter(Family::limit_hits_total, "min_rate")),
      limit_connections(metrics.counter(Family::limit_hits_total, "connections")),
      limit_queue(metrics.counter(Family::limit_hits_total, "queue")) {
  for (std::size_t source = 0; source < aborts.size(); ++source) {
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      aborts[source][kind] = metrics.counter(Family::aborts_total, util::to_string(static_cast<util::Source>(source)),
                                             util::to_string(static_cast<util::ErrorKind>(kind)));
    }
  }
  constexpr std::array<std::string_view, 6> kHandshakes{"full",    "resumed", "failed",
                                                        "aborted", "timeout", "plain_http"};
  for (std::size_t i = 0; i < handshakes.size(); ++i) {
    handshakes[i] = metrics.counter(Family::tls_handshakes_total, kHandshakes[i]);
  }
  constexpr std::array<std::string_view, 6> kHeaders{"v1", "v2", "missing", "malformed", "timeout", "aborted"};
  for (std::size_t i = 0; i < proxy_headers.size(); ++i) {
    proxy_headers[i] = metrics.counter(Family::proxy_headers_total, kHeaders[i]);
  }
  for (std::size_t i = 0; i < floods.size(); ++i) {
    const auto fault = static_cast<http2::Fault>(i);
    if (http2::is_flood(fault)) floods[i] = metrics.counter(Family::limit_hits_total, http2::to_string(fault));
  }
  for (std::size_t i = 0; i < decode_limits.size(); ++i) {
    const auto error = static_cast<wire::DecodeError>(i);
    if (wire::is_limit(error)) decode_limits[i] = metrics.counter(Family::limit_hits_total, wire::to_string(error));
  }
}

}  // namespace pontage::frontend
