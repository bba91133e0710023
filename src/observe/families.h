// The one table of everything that is measured: names, help, types, labels and units. Used by Metrics (registration)
// and by the collectable (export). A new metric is one enumerator here and one row in families.cc. Constant data; any
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace pontage::observe {

// Named as exported, without the `pontage_` prefix. In the order of the table and of the export.
enum class Family : std::uint8_t {
  requests_total,
  requests_in_flight,
  request_duration_seconds,
  request_bytes_total,
  response_bytes_total,
  phase_duration_seconds,
  toll_seconds,
  toll_cpu_seconds_total,
  backend_request_duration_seconds,
  backend_server_up,
  backend_server_requests_total,
  backend_server_errors_total,
  backend_server_picks_total,
  backend_server_retries_total,
  backend_server_bytes_in_total,
  backend_server_bytes_out_total,
  backend_server_in_flight,
  backend_server_weight,
  backend_connections,
  backend_connection_reuse_total,
  backend_queue_length,
  backend_queue_duration_seconds,
  backend_retries_total,
  backend_processes_total,
  cache_requests_total,
  connections,
  protocol_requests_total,
  proxy_headers_total,
  h2_streams,
  aborts_total,
  limit_hits_total,
  log_dropped_total,
  loop_lag_seconds,
  config_reloads_total,
  config_last_reload_success,
  backend_tls_handshakes_total,
  tls_handshakes_total,
  tls_certificate_expiry_seconds,
  series_dropped_total,
  count_
};
inline constexpr std::size_t kFamilies = static_cast<std::size_t>(Family::count_);
inline constexpr std::size_t kMaxLabels = 5;

enum class FamilyType : std::uint8_t { counter, gauge, histogram };

// What is shown when several callbacks have the same labels, as the servers of one backend, or a server that still
// drains and the one that took over its name.
enum class Merge : std::uint8_t { sum, youngest };

struct FamilyInfo {
  Family family;
  FamilyType type;
  double scale;  // what one counted unit is worth in the exported unit: 1e-9 for nanoseconds shown as seconds
  std::string_view name;
  std::string_view help;
  std::array<std::string_view, kMaxLabels> label_names;  // the empty ones at the end are not there
  Merge merge = Merge::sum;

  constexpr std::size_t label_count() const noexcept {
    std::size_t n = 0;
    while (n < kMaxLabels && !label_names[n].empty()) ++n;
    return n;
  }
};

const FamilyInfo& info(Family family) noexcept;
std::span<const FamilyInfo> families() noexcept;

}  // namespace pontage::observe
