#include "src/frontend/exchange_desk.h"

#include "protocols/message/status.h"
#include "src/http/error_page.h"
#include "src/http/header_edit.h"
#include "src/http/simple_response.h"
#include "src/net/tls_server.h"

namespace pontage::frontend {

using config::Encoded;
using message::TargetForm;
using observe::Phase;
using util::ErrorKind;
using util::Source;

namespace {

util::Failure bad_request(std::string_view detail) {
  return util::Failure(util::Error{.kind = ErrorKind::protocol,
                                   .source = Source::client,
                                   .decode = wire::DecodeError::malformed_target,
                                   .detail = detail});
}

util::Result<void> check_marks(const message::PathMarks& marks, const routing::Route& route) {
  if (marks.encoded_slash && route.encoded_slash == Encoded::refuse) return bad_request("encoded slash in the path");
  if (marks.backslash && route.backslash == Encoded::refuse) return bad_request("backslash in the path");
  if (marks.nul && route.nul == Encoded::refuse) return bad_request("NUL in the path");
  return {};
}

// By the path that routes would see: no other spelling of one gets past it.
bool belongs_on_https(const http::Exchange& exchange) {
  static constexpr std::string_view kChallenges = "/.well-known/acme-challenge/";  // RFC 8555 8.3: asked for over http
  return exchange.connection->https_port != 0 && exchange.client.scheme != "https" &&
         !exchange.path.path.starts_with(kChallenges);
}

http::Response send_to_https(http::Exchange& exchange) {
  const message::RequestHead& request = exchange.request;
  std::string location = "https://" + std::string(request.host);
  if (exchange.connection->https_port != 443) location += ":" + std::to_string(exchange.connection->https_port);
  location += request.target.raw_path;
  if (request.target.has_query) location.append("?").append(request.target.query);
  http::Response response = http::make_response(exchange, 308, {}, {});
  response.head.headers.add(message::HeaderId::location, exchange.arena.copy(location));
  return response;
}

// "OPTIONS *" asks about the gateway itself (RFC 9110 9.3.7).
http::Response answer_asterisk(http::Exchange& exchange) {
  http::Response response = http::make_response(exchange, 204, {}, {});
  response.head.headers.add(message::HeaderId::allow, "GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH, TRACE");
  return response;
}

std::uint64_t microseconds(const observe::Ledger& ledger, Phase phase) {
  return util::cycles_to_ns(ledger.spent(phase)) / 1000;
}

std::string_view version_text(message::Version version) {
  if (version == message::kHttp10) return "HTTP/1.0";
  return version == message::kHttp2 ? "HTTP/2.0" : "HTTP/1.1";
}

void write_log(SessionHost& host, const http::Exchange& exchange, std::uint64_t total_ns) {
  const http::Outcome& outcome = exchange.outcome;
  const observe::Ledger& ledger = exchange.ledger;
  observe::AccessRecord record;
  record.time_ns = util::realtime_ns() - total_ns;
  record.request_id = exchange.request_id;
  record.trace_id = exchange.trace_id;
  record.client = exchange.client.ip.empty() ? std::string_view(exchange.connection->peer_ip) : exchange.client.ip;
  record.peer = exchange.connection->peer_ip;
  record.method = exchange.request.method_text;
  record.host = exchange.request.authority;
  record.target = exchange.request.target_text;
  record.version = version_text(exchange.request.version);
  record.status = static_cast<std::uint16_t>(outcome.status);
  record.bytes_in = outcome.bytes_in;
  record.bytes_out = outcome.bytes_out;
  record.route = outcome.route;
  record.backend = outcome.backend;
  record.server = outcome.server;
  record.attempts = outcome.attempts;
  record.cache = outcome.cache;
  record.referer = exchange.request.headers.value(message::HeaderId::referer);
  record.user_agent = exchange.request.headers.value(message::HeaderId::user_agent);
  record.end = outcome.end;
  record.error = outcome.error;
  record.phases.queue = microseconds(ledger, Phase::queue);
  record.phases.connect = microseconds(ledger, Phase::connect);
  record.phases.wait = microseconds(ledger, Phase::server);
  record.phases.transfer = microseconds(ledger, Phase::client);
  record.phases.loop = microseconds(ledger, Phase::loop);
  record.phases.total = total_ns / 1000;
  record.phases.toll = util::cycles_to_ns(ledger.toll()) / 1000;
  host.access_log()->write(record);
}

// RFC 9110 7.4: a client that uses one connection for several hosts is told where it must not.
bool is_misdirected(const http::Exchange& exchange) {
  const auto& tls = exchange.connection->tls;
  const std::string_view host = exchange.request.host;
  return tls && !host.empty() && host != tls->server_name && !tls->server->covers(tls->site, host);
}

}  // namespace

util::Result<void> find_route(http::Exchange& exchange, Routed& routed) {
  const message::RequestHead& request = exchange.request;
  routed.route = nullptr;
  routed.to_https = false;
  if (is_misdirected(exchange)) return util::fail(ErrorKind::misdirected, Source::client, "host");
  if (request.target.form == TargetForm::asterisk || request.target.form == TargetForm::authority) return {};
  const routing::Site& site = *routed.site;
  const auto slashes = site.config.merge_slashes ? message::Slashes::merge : message::Slashes::keep;
  const auto path = message::canonical_path(request.target.raw_path, slashes, exchange.arena);
  if (!path) return util::fail_decode(path.error(), Source::client);
  exchange.path = *path;
  if (belongs_on_https(exchange)) {
    if (request.host.empty()) return bad_request("no host");
    routed.to_https = true;
    return {};
  }
  const auto match = site.table.match(request, exchange.path);
  if (!match) return {};
  const routing::Route& route = site.routes[match->index];
  routed.route = &route;
  exchange.outcome.route = route.name;
  exchange.outcome.backend = route.backend;
  const auto marks = check_marks(exchange.path.marks, route);
  if (!marks) return marks;
  if (request.body.kind == message::BodyKind::exact && request.body.length > route.body_limit) {
    return util::fail(ErrorKind::too_large, Source::client, "body");
  }
  exchange.bare_prefix = match->bare_prefix;
  exchange.forward_path = exchange.path.path;
  if (!route.rewrite.empty()) {
    const auto rewritten = route.rewrite.apply(exchange.path, exchange.arena);
    if (!rewritten) return bad_request("rewritten path");
    exchange.forward_path = rewritten->path;
  }
  return {};
}

namespace {

http::Response answer_without_route(http::Exchange& exchange) {
  if (exchange.request.target.form == TargetForm::asterisk) return answer_asterisk(exchange);
  if (exchange.request.target.form == TargetForm::authority) {
    return error_response(exchange, util::Error{.kind = ErrorKind::unsupported, .detail = "CONNECT is not served"});
  }
  return http::make_error_response(exchange, 404, {});
}

net::Task<util::Result<http::Response>> finish(http::Exchange& exchange, const routing::Route& route,
                                               net::Task<util::Result<http::Response>> handling) {
  auto response = co_await handling;
  if (!response) {
    if (http::status_of(response.error()) == 499) {
      note_error(exchange, response.error());
      co_return response;
    }
    co_return error_response(exchange, response.error());
  }
  if (!route.response_headers.empty()) {
    response->own_headers(exchange.arena);
    http::apply_header_edits(response->head.headers, route.response_headers);
  }
  co_return response;
}

}  // namespace

net::Task<util::Result<http::Response>> respond(http::Exchange& exchange, const Routed& routed) {
  using Answer = net::Task<util::Result<http::Response>>;
  if (routed.to_https) return Answer::ready(send_to_https(exchange));
  if (routed.route == nullptr) return Answer::ready(answer_without_route(exchange));
  Answer handling = routed.route->handler->handle(exchange);
  const auto* at_hand = handling.at_hand();
  if (at_hand != nullptr && *at_hand && routed.route->response_headers.empty()) return handling;
  return finish(exchange, *routed.route, std::move(handling));
}

void note_error(http::Exchange& exchange, const util::Error& error) {
  http::Outcome& outcome = exchange.outcome;
  outcome.end = http::end_reason(error);
  outcome.error = error.detail.empty() ? util::to_string(error.kind) : error.detail;
  if (outcome.status == 0) outcome.status = http::status_of(error);
  outcome.failure = error;
  outcome.failed = true;
}

http::Response error_response(http::Exchange& exchange, const util::Error& error) {
  exchange.outcome.status = 0;
  note_error(exchange, error);
  const int status = http::status_of(error);
  if (exchange.request_id.empty() && status != 499) http::make_request_id(exchange, http::ForwardingPolicy{});
  // What is wrong with a server is nobody's business outside.
  const bool tell = error.source != Source::server;
  return http::make_error_response(exchange, status, tell ? error.detail : std::string_view{});
}

namespace {

void count_failure(SessionHost& host, const util::Error& error) {
  const SessionSeries& series = host.series();
  observe::WorkerMetrics& metrics = host.metrics();
  metrics.add(series.aborts[static_cast<std::size_t>(error.source)][static_cast<std::size_t>(error.kind)]);
  if (error.kind == ErrorKind::limit) metrics.add(series.decode_limits[static_cast<std::size_t>(error.decode)]);
  if (error.kind == ErrorKind::too_large) metrics.add(series.limit_body);
  if (error.kind == ErrorKind::too_slow) metrics.add(series.limit_rate);
  if (error.kind == ErrorKind::queue_full) metrics.add(series.limit_queue);
}

}  // namespace

void report(SessionHost& host, http::Exchange& exchange, const Routed& routed) {
  observe::Ledger& ledger = exchange.ledger;
  const std::uint64_t total_ns = util::cycles_to_ns(ledger.end());
  const http::Outcome& outcome = exchange.outcome;
  const SessionSeries& series = host.series();
  observe::WorkerMetrics& metrics = host.metrics();
  const routing::RouteSeries& route = routed.route != nullptr ? routed.route->series : routed.site->no_route;

  metrics.count_request({.listener = exchange.connection->listener,
                         .route = route.id,
                         .backend = route.backend_id,
                         .method = exchange.request.method,
                         .code = static_cast<std::uint16_t>(outcome.status)});
  const message::Version version = exchange.request.version;
  metrics.add(series.protocols[version == message::kHttp2 ? 2 : version == message::kHttp10 ? 0 : 1]);
  metrics.add(series.request_bytes, outcome.bytes_in);
  metrics.add(series.response_bytes, outcome.bytes_out);
  metrics.observe(route.duration, total_ns);
  for (std::size_t i = 0; i < observe::kPhases; ++i) {
    const util::Cycles spent = ledger.spent(static_cast<Phase>(i));
    if (spent != 0) metrics.observe(route.phases[i], util::cycles_to_ns(spent));
  }
  metrics.observe(route.toll, util::cycles_to_ns(ledger.toll()));
  metrics.add(route.toll_cpu, util::cycles_to_ns(ledger.spent(Phase::running)));
  if (!outcome.cache.empty()) {
    metrics.add(outcome.cache == "hit"    ? series.cache_hit
                : outcome.cache == "miss" ? series.cache_miss
                                          : series.cache_uncached);
  }
  if (outcome.failed) count_failure(host, outcome.failure);
  if (host.access_log() != nullptr && host.access_log()->enabled()) write_log(host, exchange, total_ns);
}

}  // namespace pontage::frontend
