#include "src/observe/families.h"

namespace pontage::observe {
namespace {

constexpr double kNanoseconds = 1e-9;
constexpr FamilyType kCounter = FamilyType::counter;
constexpr FamilyType kGauge = FamilyType::gauge;
constexpr FamilyType kHistogram = FamilyType::histogram;

// clang-format off
constexpr std::array<FamilyInfo, kFamilies> kTable{{
    {Family::requests_total, kCounter, 1, "requests_total", "Requests answered.",
     {"listener", "route", "backend", "method", "code"}},
    {Family::requests_in_flight, kGauge, 1, "requests_in_flight", "Requests being served now.", {}},
    {Family::request_duration_seconds, kHistogram, kNanoseconds, "request_duration_seconds",
     "From the first byte of a request to the last byte of its answer.", {"route"}},
    {Family::request_bytes_total, kCounter, 1, "request_bytes_total", "Bytes received from clients.", {}},
    {Family::response_bytes_total, kCounter, 1, "response_bytes_total", "Bytes sent to clients.", {}},
    {Family::phase_duration_seconds, kHistogram, kNanoseconds, "phase_duration_seconds",
     "Where the time of a request went.", {"route", "adapter", "phase"}},
    {Family::toll_seconds, kHistogram, kNanoseconds, "toll_seconds",
     "What the gateway itself cost a request: running time and waiting for its own loop.", {"route", "adapter"}},
    {Family::toll_cpu_seconds_total, kCounter, kNanoseconds, "toll_cpu_seconds_total",
     "Running time of the gateway spent on requests.", {"adapter"}},
    {Family::backend_request_duration_seconds, kHistogram, kNanoseconds, "backend_request_duration_seconds",
     "From the choice of a server to the last byte of its answer.", {"backend", "server"}},
    {Family::backend_server_up, kGauge, 1, "backend_server_up", "1 when the server may be picked.",
     {"backend", "server"}, Merge::youngest},
    {Family::backend_server_requests_total, kCounter, 1, "backend_server_requests_total",
     "Requests sent to the server.", {"backend", "server"}},
    {Family::backend_server_errors_total, kCounter, 1, "backend_server_errors_total",
     "Requests to the server that failed without an answer.", {"backend", "server"}},
    {Family::backend_server_picks_total, kCounter, 1, "backend_server_picks_total",
     "Times the balancer chose the server.", {"backend", "server"}},
    {Family::backend_server_retries_total, kCounter, 1, "backend_server_retries_total",
     "Requests that came to the server after another attempt had failed.", {"backend", "server"}},
    {Family::backend_server_bytes_in_total, kCounter, 1, "backend_server_bytes_in_total",
     "Bytes received from the server.", {"backend", "server"}},
    {Family::backend_server_bytes_out_total, kCounter, 1, "backend_server_bytes_out_total",
     "Bytes sent to the server.", {"backend", "server"}},
    {Family::backend_server_in_flight, kGauge, 1, "backend_server_in_flight",
     "Requests at the server now.", {"backend", "server"}},
    {Family::backend_server_weight, kGauge, 1, "backend_server_weight", "Share of the server.", {"backend", "server"},
     Merge::youngest},
    {Family::backend_connections, kGauge, 1, "backend_connections",
     "Connections to the server.", {"backend", "server", "state"}},
    {Family::backend_connection_reuse_total, kCounter, 1, "backend_connection_reuse_total",
     "Where the connection of a request came from.", {"backend", "server", "result"}},
    {Family::backend_queue_length, kGauge, 1, "backend_queue_length",
     "Requests waiting for a connection.", {"backend"}},
    {Family::backend_queue_duration_seconds, kHistogram, kNanoseconds, "backend_queue_duration_seconds",
     "Time that requests waited for a connection.", {"backend"}},
    {Family::backend_retries_total, kCounter, 1, "backend_retries_total",
     "Attempts after the first.", {"backend", "reason"}},
    {Family::backend_processes_total, kCounter, 1, "backend_processes_total",
     "CGI processes that ended.", {"backend", "end"}},
    {Family::cache_requests_total, kCounter, 1, "cache_requests_total", "Look-ups in the file cache.", {"result"}},
    {Family::connections, kGauge, 1, "connections", "Client connections open now.", {"listener", "protocol"}},
    {Family::protocol_requests_total, kCounter, 1, "protocol_requests_total", "Requests answered, by the client's version.",
     {"protocol"}},
    {Family::proxy_headers_total, kCounter, 1, "proxy_headers_total",
     "Connections from trusted proxies, by what came of their PROXY header.", {"result"}},
    {Family::h2_streams, kGauge, 1, "h2_streams", "Streams of HTTP/2 clients that are not done.", {}},
    {Family::aborts_total, kCounter, 1, "aborts_total",
     "Requests that ended before their answer was complete.", {"side", "reason"}},
    {Family::limit_hits_total, kCounter, 1, "limit_hits_total", "Requests refused by a limit.", {"limit"}},
    {Family::log_dropped_total, kCounter, 1, "log_dropped_total", "Log lines dropped because the log fell behind.", {}},
    {Family::loop_lag_seconds, kHistogram, kNanoseconds, "loop_lag_seconds",
     "Delay between an event and the turn of the loop that handled it.", {}},
    {Family::config_reloads_total, kCounter, 1, "config_reloads_total", "Reloads asked for.", {"result"}},
    {Family::config_last_reload_success, kGauge, 1, "config_last_reload_success",
     "1 when the last reload was accepted.", {}, Merge::youngest},
    {Family::backend_tls_handshakes_total, kCounter, 1, "backend_tls_handshakes_total",
     "TLS handshakes with servers that ended.", {"backend", "server", "result"}},
    {Family::tls_handshakes_total, kCounter, 1, "tls_handshakes_total", "TLS handshakes of clients that ended.",
     {"result"}},
    {Family::tls_certificate_expiry_seconds, kGauge, 1, "tls_certificate_expiry_seconds",
     "When the certificate expires, in seconds since 1970.", {"listener", "certificate"}, Merge::youngest},
    {Family::series_dropped_total, kCounter, 1, "series_dropped_total",
     "Series not kept, and requests not told apart, because there were too many.", {}},
}};
// clang-format on

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kFamilies; ++i) {
    if (kTable[i].family != static_cast<Family>(i)) return false;
    if (kTable[i].type == kCounter && !kTable[i].name.ends_with("_total")) return false;
  }
  return true;
}
static_assert(rows_are_in_order());

}  // namespace

const FamilyInfo& info(Family family) noexcept {
  return kTable[static_cast<std::size_t>(family)];
}
std::span<const FamilyInfo> families() noexcept {
  return kTable;
}

}  // namespace pontage::observe
