#include "src/handlers/cgi.h"

#include <algorithm>

#include "src/handlers/buffer_body.h"
#include "src/http/error_page.h"
#include "src/http/header_edit.h"
#include "src/upstream/cgi_request.h"
#include "src/upstream/process_connection.h"

namespace pontage::handlers {

using config::ms;
using util::ErrorKind;
using util::Source;

namespace {

constexpr std::uint64_t kDiskTimeoutMs = 30'000;

util::Failure bad_path() {
  return util::Failure(util::Error{.kind = ErrorKind::protocol,
                                   .source = Source::client,
                                   .decode = wire::DecodeError::malformed_target,
                                   .detail = "a line end, NUL or hidden dot segment in the path"});
}

struct LookJob {
  std::shared_ptr<const CgiPolicy> policy;
  std::string path;

  wire::Expected<ScriptFile, ScriptRefusal> operator()() const { return find_script_file(policy->action, path); }
};

}  // namespace

CgiHandler::CgiHandler(std::shared_ptr<const CgiPolicy> policy, std::shared_ptr<upstream::BackendServer> server,
                       std::shared_ptr<const http::ForwardingPolicy> forwarding, const Tools& tools, CgiOptions options)
    : policy_(std::move(policy)),
      server_(std::move(server)),
      forwarding_(std::move(forwarding)),
      tools_(tools),
      options_(std::move(options)) {}

util::Result<CgiHandler::Way> CgiHandler::way_of(http::Exchange& exchange) const {
  const auto decoded = upstream::decode_script_path(exchange.forward_path, exchange.arena);
  if (!decoded) return bad_path();
  const std::string_view path = *decoded;
  const std::string_view mount = policy_->mount;
  const bool below =
      !mount.empty() && path.starts_with(mount) && (path.size() == mount.size() || path[mount.size()] == '/');
  if (!below) return Way{path, {}};
  return Way{path.substr(mount.size()), mount};
}

util::Result<void> CgiHandler::make_variables(http::Exchange& exchange) const {
  const auto made = upstream::make_cgi_variables(exchange, policy_->mapping, upstream::ScriptPath{});
  if (!made) return util::Failure(made.error());
  exchange.variables = *made;
  const auto too_long = [](const cgi::Variable& v) { return v.name.size() + v.value.size() + 1 > kMostVariable; };
  const bool fits = std::none_of(exchange.variables->begin(), exchange.variables->end(), too_long) &&
                    exchange.variables->bytes() <= kMostEnvironment;
  if (!fits) return util::fail(ErrorKind::limit, Source::gateway, "variables");
  return {};
}

http::Response CgiHandler::refuse(http::Exchange& exchange, ScriptRefusal why) const {
  if (exchange.request_id.empty()) http::make_request_id(exchange, *forwarding_);
  return http::make_error_response(exchange, why == ScriptRefusal::missing ? 404 : 403, {});
}

net::Task<util::Result<std::optional<http::Response>>> CgiHandler::take_body(http::Exchange& exchange, const Way& way) {
  using Nothing = std::optional<http::Response>;
  const auto& reactor = exchange.reactor();
  LookJob job{policy_, std::string(way.path)};
  auto looking = net::run_blocking(tools_.blocking, exchange.reactor(), reactor.after(kDiskTimeoutMs), std::move(job));
  const auto looked = co_await looking;
  if (!looked) co_return util::Failure(looked.error());
  if (!*looked) co_return Nothing(refuse(exchange, looked->error()));
  const bool had_length = exchange.request.body.kind == message::BodyKind::exact;
  auto buffering = buffer_body(exchange, tools_.blocking, options_.spool, options_.buffering);
  const auto taken = co_await std::move(buffering);
  if (!taken) co_return util::Failure(taken.error());
  if (!had_length) {
    const auto ready = make_variables(exchange);
    if (!ready) co_return util::Failure(ready.error());
  }
  co_return Nothing();
}

// A launch under way cannot be taken back, only killed: the job keeps its place, and what it may still start is killed
// by Started.
net::Task<util::Result<Launch>> CgiHandler::launch(http::Exchange& exchange, const Way& way, upstream::Place place) {
  net::Reactor& reactor = exchange.reactor();
  const auto ticket = std::make_shared<upstream::LaunchTicket>();
  LaunchJob job{.policy = policy_,
                .path = std::string(way.path),
                .mount = std::string(way.mount),
                .environment = make_environment(*policy_, *exchange.variables),
                .input = exchange.body == nullptr ? upstream::Input::none : upstream::Input::pipe,
                .launcher = &tools_.launcher,
                .ticket = ticket,
                .reactor = &reactor,
                .about = {.script = {},
                          .server = server_,
                          .patience = policy_->patience,
                          .series = policy_->series,
                          .metrics = exchange.metrics},
                .place = std::move(place)};
  const net::Deadline deadline = reactor.after(ms(policy_->action.timeouts.first_byte));
  auto launching = net::run_blocking(tools_.launches, reactor, deadline, std::move(job), observe::Phase::connect);
  auto launched = co_await launching;
  if (launched) co_return std::move(*launched);
  ticket->kill();  // cancelled or late; or there is nothing to kill
  util::Error error = launched.error();
  if (error.kind == ErrorKind::timeout) error.source = Source::server;
  co_return util::Failure(error);
}

net::Task<util::Result<http::Response>> CgiHandler::run(http::Exchange& exchange, Started started) {
  upstream::Launched& pipes = started.pipes();
  auto stream = std::make_unique<net::PipeStream>(exchange.reactor(), std::move(pipes.output), std::move(pipes.input));
  upstream::Lease lease(
      std::make_unique<upstream::ProcessConnection>(server_, std::move(stream), started.take_process()));
  started.place().pass_on();
  auto answered = co_await lease->round_trip(exchange);
  if (answered) {
    lease.release();
    if (!takes_in(options_.answers, *answered)) co_return std::move(*answered);
    auto taken = take_in(exchange, std::move(*answered), tools_.blocking, options_.spool, options_.answers.most);
    auto whole = co_await std::move(taken);
    co_return whole;
  }
  if (exchange.pump.active()) co_await exchange.pump.join();
  server_->count_failure(exchange, answered.error());
  co_return util::Failure(answered.error());
}

net::Task<util::Result<http::Response>> CgiHandler::handle(http::Exchange& exchange) {
  if (exchange.request.method == message::Method::connect) {
    co_return util::fail(ErrorKind::unsupported, Source::gateway, "CONNECT is not served");
  }
  exchange.gather = options_.answers.how != config::Buffering::off;
  http::make_forward_headers(exchange, *forwarding_);
  if (!options_.request_headers.empty()) http::apply_header_edits(exchange.forward_headers, options_.request_headers);
  const auto way = way_of(exchange);
  if (!way) co_return util::Failure(way.error());
  const auto ready = make_variables(exchange);
  if (!ready) co_return util::Failure(ready.error());
  if (exchange.body != nullptr && options_.buffering != config::Buffering::off) {
    auto taking = take_body(exchange, *way);
    auto taken = co_await std::move(taking);
    if (!taken) co_return util::Failure(taken.error());
    if (*taken) co_return std::move(**taken);
  }
  if (exchange.body != nullptr && exchange.request.body.kind != message::BodyKind::exact) {
    co_return util::fail(ErrorKind::length_required, Source::client, "request_buffering is off");
  }
  ++exchange.outcome.attempts;
  exchange.outcome.server = server_->name();
  exchange.outcome.adapter = server_->adapter_name();
  const auto granted = co_await server_->pool().acquire(exchange.reactor());
  if (!granted) co_return util::Failure(granted.error());
  upstream::Place place(server_);
  server_->count_pick(exchange);
  auto launching = launch(exchange, *way, std::move(place));
  auto launched = co_await std::move(launching);
  if (!launched) {
    server_->count_failure(exchange, launched.error());
    co_return util::Failure(launched.error());
  }
  if (!*launched) co_return refuse(exchange, launched->error());
  Started started = std::move(**launched);
  auto running = run(exchange, std::move(started));
  co_return co_await std::move(running);
}

}  // namespace pontage::handlers
