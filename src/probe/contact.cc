#include "src/probe/contact.h"

#include <algorithm>
#include <atomic>

#include "src/upstream/registry.h"
#include "src/util/clock.h"

namespace pontage::probe {
namespace {

using http::BodyBatch;

constexpr std::uint64_t kLongestAnswer = 1 << 20;  // bytes of a body that are read; HEAD should have none
constexpr std::uint64_t kResolveMs = 6000;

config::Millis capped(config::Millis configured, std::uint64_t patience_ms) {
  const auto most = config::Millis(static_cast<std::int64_t>(patience_ms));
  return configured.count() == 0 ? most : std::min(configured, most);
}

upstream::ServerSettings settings_for(const config::Config& config, const config::Backend& backend,
                                      const config::Server& server, std::uint64_t patience_ms) {
  auto settings = upstream::settings_of(config, backend, server);
  if (server.url.tls) {
    auto made = net::TlsClient::make(backend.tls, server.url.host, 1);  // found good by net::check_tls
    if (made) settings.tls = *std::move(made);
  }
  settings.timeouts.connect = capped(settings.timeouts.connect, patience_ms);
  settings.timeouts.first_byte = capped(settings.timeouts.first_byte, patience_ms);
  settings.timeouts.idle = capped(settings.timeouts.idle, patience_ms);
  if (settings.timeouts.cping.count() != 0) settings.timeouts.cping = capped(settings.timeouts.cping, patience_ms);
  return settings;
}

// The backend with this server alone.
config::Backend alone(const config::Backend& backend, const config::Server& server) {
  config::Backend one = backend;
  one.servers = {server};
  one.sticky = {};
  one.retry.attempts = 2;  // a connection that idled may just be closing
  return one;
}

void fill_request(http::Exchange& exchange, const Question& question, std::size_t padding) {
  message::RequestHead& request = exchange.request;
  message::Arena& arena = exchange.arena;
  request.method = message::Method::head;
  request.method_text = "HEAD";
  request.target_text = arena.copy(question.path);
  if (const auto target = message::parse_target(request.target_text, request.method)) request.target = *target;
  request.authority = arena.copy(question.host);
  if (const auto authority = message::parse_authority(request.authority)) {
    request.host = authority->host;
    request.port = authority->port;
  }
  request.headers = message::HeaderList(arena);
  request.headers.add(message::HeaderId::user_agent, "pontage/" PONTAGE_VERSION " (check --probe)");
  request.headers.add(message::HeaderId::accept, "*/*");
  if (padding > 0) {
    const auto room = arena.chars(padding);
    std::fill(room.begin(), room.end(), 'p');
    request.headers.add("X-Pontage-Probe", {room.data(), room.size()});
  }
  exchange.forward_path = arena.copy(question.forward_path);
  exchange.path = {.path = request.target.raw_path, .match = request.target.raw_path, .marks = {}};
}

}  // namespace

Contact::Contact(Bench& bench, const config::Config& config, const config::Backend& backend,
                 const config::Server& server, std::uint64_t patience_ms)
    : bench_(bench), patience_ms_(patience_ms), url_(server.url) {
  connection_.peer_ip = connection_.local_ip = "127.0.0.1";
  connection_.local_port = 80;
  server_ = std::make_shared<upstream::BackendServer>(backend.name, settings_for(config, backend, server, patience_ms),
                                                      std::vector<net::Reactor*>{&bench.reactor}, bench.metrics);
  // The first of each symptom: a server may give cause for any number.
  server_->hints().listen([this](upstream::Symptom symptom, std::string_view detail) {
    const auto same = [symptom](const Heard& h) { return h.symptom == symptom; };
    if (std::none_of(heard_.begin(), heard_.end(), same)) heard_.push_back({symptom, std::string(detail)});
  });
  backend_ = std::make_shared<upstream::Backend>(alone(backend, server), std::vector{server_}, 1);
}

// Its idle connections are closed in the reactor's next turn; they keep the server until then.
Contact::~Contact() {
  server_->hints().listen([](upstream::Symptom, std::string_view) {});
  server_->pool().retire();
}

net::Task<std::vector<net::Address>> Contact::resolve() {
  std::vector<net::Address> addresses;
  if (!url_.unix_path.empty()) {
    if (const auto address = net::Address::from_unix(url_.unix_path)) addresses.push_back(*address);
    co_return addresses;
  }
  struct Found {
    std::mutex lock;
    bool done = false;
    std::vector<net::Address> addresses;
  };
  const auto found = std::make_shared<Found>();
  auto tell = [found](std::vector<net::Address> all) {
    const std::lock_guard guard(found->lock);
    found->done = true;
    found->addresses = std::move(all);
  };
  const auto watch = bench_.resolver.watch(url_.host, url_.port, tell, [tell] { tell({}); });
  const net::Deadline until = bench_.reactor.after(kResolveMs);
  for (bool done = false; !done && bench_.reactor.now_ms() < until;) {
    {
      const std::lock_guard guard(found->lock);
      done = found->done;
      addresses = found->addresses;
    }
    if (done) break;
    net::Pause pause(bench_.reactor.after(kPollMs));
    co_await pause;
  }
  bench_.resolver.forget(watch);
  co_return addresses;
}

net::Task<Answer> Contact::ask(net::Fiber& fiber, const Question& question, std::size_t padding) {
  heard_.clear();
  Answer answer;
  const auto exchange = std::make_unique<http::Exchange>(bench_.reactor);
  exchange->fiber = &fiber;
  exchange->metrics = &bench_.counters;
  exchange->connection = &connection_;
  fill_request(*exchange, question, padding);
  http::identify_client(*exchange, *bench_.forwarding);
  handlers::ProxyOptions options;
  options.request_headers = question.request_headers;
  handlers::ProxyHandler handler(backend_, bench_.forwarding, bench_.blocking, std::move(options));
  const std::uint64_t began = util::monotonic_ns();
  co_await read_answer(*exchange, handler, answer);
  answer.took_ns = util::monotonic_ns() - began;
  answer.heard = std::move(heard_);
  heard_.clear();
  co_return answer;
}

net::Task<void> Contact::read_answer(http::Exchange& exchange, handlers::ProxyHandler& handler, Answer& answer) const {
  const net::Deadline until = bench_.reactor.after(patience_ms_);
  auto response = co_await handler.handle(exchange);
  if (!response) {
    answer.error = response.error();
    co_return;
  }
  answer.answered = true;
  answer.status = response->head.status;
  std::uint64_t bytes = 0;
  BodyBatch batch;
  while (response->body != nullptr && batch.last == http::Last::no) {
    batch.clear();
    const auto pulled = co_await response->body->pull(batch, 65536, http::Patience::wait);
    bytes += batch.bytes();
    // What follows a good head is the application's; it is not waited for beyond reason.
    if (!pulled || bytes > kLongestAnswer || bench_.reactor.now_ms() > until) break;
  }
}

net::Task<int> Contact::open_many(net::Fiber& fiber, int most) {
  http::Exchange exchange(bench_.reactor);
  exchange.fiber = &fiber;
  exchange.metrics = &bench_.counters;
  std::vector<upstream::Lease> leases;
  while (static_cast<int>(leases.size()) < most) {
    auto leased = co_await server_->lease(exchange, upstream::LeaseKind::fresh);
    if (!leased) break;
    leases.push_back(std::move(*leased));
  }
  const int opened = static_cast<int>(leases.size());
  leases.clear();
  co_return opened;
}

}  // namespace pontage::probe
