#include "src/probe/examination.h"

#include <algorithm>
#include <array>

#include "src/probe/ajp_plain.h"

namespace pontage::probe {

using config::Adapter;
using upstream::Symptom;
using upstream::Weight;
using util::ErrorKind;

namespace {

constexpr std::uint64_t kPatienceMs = 5000;
constexpr std::uint64_t kShortPatienceMs = 1000;  // when it is asked in another protocol
constexpr int kMostConnections = 500;
constexpr std::uint64_t kOwnCloseMs = 100;  // before the pool closes an idle connection itself
constexpr std::size_t kUwsgiDefault = 4096;

std::string_view word_for(Adapter adapter) {
  switch (adapter) {
    case Adapter::http: return "HTTP";
    case Adapter::ajp: return "AJP";
    case Adapter::fastcgi: return "FastCGI";
    case Adapter::scgi: return "SCGI";
    case Adapter::uwsgi: return "uwsgi";
    case Adapter::cgi: return "CGI";
  }
  return "";
}

Symptom symptom_of(Adapter spoken) {
  switch (spoken) {
    case Adapter::http: return Symptom::speaks_http;
    case Adapter::ajp: return Symptom::speaks_ajp;
    case Adapter::fastcgi: return Symptom::speaks_fastcgi;
    case Adapter::scgi: return Symptom::speaks_scgi;
    case Adapter::uwsgi: return Symptom::speaks_uwsgi;
    case Adapter::cgi: break;  // a script has no port
  }
  return Symptom::garbled;
}

// Symptoms that name no cause: another protocol may be one.
bool is_vague(Symptom symptom) {
  return symptom == Symptom::garbled || symptom == Symptom::no_cpong || symptom == Symptom::uwsgi_buffer;
}

}  // namespace

bool Diagnosis::has(Weight weight) const noexcept {
  if (weight == Weight::error && !unknown.empty()) return true;
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& f) { return upstream::hint_for(f.symptom).weight == weight; });
}

Examination::Examination(Bench& bench, const config::Config& config, const config::Backend& backend,
                         const config::Server& server, const Options& options)
    : bench_(bench),
      config_(config),
      backend_(backend),
      configured_(server),
      options_(options),
      question_(question_for(config, backend, server.url, options.path)),
      contact_(bench, config, backend, server, kPatienceMs) {
  diagnosis_.path = question_.path;
}

void Examination::found(Symptom symptom, std::string detail) {
  if (!has_found(symptom)) diagnosis_.findings.push_back({symptom, std::move(detail)});
}

void Examination::found_all(const std::vector<Heard>& heard) {
  for (const auto& one : heard) found(one.symptom, one.detail);
}

bool Examination::has_found(Symptom symptom) const noexcept {
  const auto& all = diagnosis_.findings;
  return std::any_of(all.begin(), all.end(), [&](const Finding& f) { return f.symptom == symptom; });
}

net::Task<void> Examination::run(net::Fiber& fiber) {
  addresses_ = co_await contact_.resolve();
  if (addresses_.empty()) {
    found(Symptom::unresolved, configured_.url.host);
    co_return;
  }
  contact_.set_addresses(addresses_);
  co_await ask_first(fiber);
  if (diagnosis_.has(Weight::error)) co_return;
  if (options_.open_pool) co_await open_pool(fiber);
}

net::Task<void> Examination::ask_first(net::Fiber& fiber) {
  auto answer = co_await contact_.ask(fiber, question_, 0);
  diagnosis_.status = answer.status;
  diagnosis_.took_ns = answer.took_ns;
  if (!answer.answered) {
    co_await explain(fiber, std::move(answer));
    co_return;
  }
  const auto said = [](const Heard& h) { return h.symptom == Symptom::idle_longer; };
  if (std::none_of(answer.heard.begin(), answer.heard.end(), said)) co_await watch_idle();
  co_await examine_adapter(fiber, std::move(answer));
}

net::Task<void> Examination::explain(net::Fiber& fiber, Answer answer) {
  const bool vague =
      std::all_of(answer.heard.begin(), answer.heard.end(), [](const Heard& h) { return is_vague(h.symptom); });
  if (!vague) {
    found_all(answer.heard);
    co_return;
  }
  const bool other = co_await identify(fiber);
  if (other) co_return;
  found_all(answer.heard);
  if (!diagnosis_.findings.empty()) co_return;
  const std::string word(word_for(configured_.url.adapter));
  switch (answer.error.kind) {
    case ErrorKind::closed:
    case ErrorKind::reset: found(Symptom::closes, word); break;
    case ErrorKind::timeout: {
      const auto settings = contact_.server().settings();
      found(Symptom::silent, upstream::duration_text(config::ms(settings->timeouts.first_byte)));
      break;
    }
    case ErrorKind::protocol: found(Symptom::garbled, word); break;
    default:
      diagnosis_.unknown = std::string(to_string(answer.error.kind));
      if (!answer.error.detail.empty()) diagnosis_.unknown += ": " + std::string(answer.error.detail);
  }
}

// Whether an answer comes back that is one in this protocol.
net::Task<bool> Examination::speaks(net::Fiber& fiber, Adapter other) {
  config::Server server = configured_;
  server.url.adapter = other;
  Contact contact(bench_, config_, backend_, server, kShortPatienceMs);
  contact.set_addresses(addresses_);
  const auto answer = co_await contact.ask(fiber, question_, 0);
  // An HTTP server says 400 to what it does not understand, and a CGI answer may begin like one of its own.
  const bool block = other == Adapter::scgi || other == Adapter::uwsgi;
  co_return answer.answered && !(block && answer.status == 400);
}

net::Task<bool> Examination::identify(net::Fiber& fiber) {
  // The surest first.
  constexpr std::array kOrder{Adapter::ajp, Adapter::http, Adapter::fastcgi, Adapter::uwsgi, Adapter::scgi};
  for (const Adapter other : kOrder) {
    if (other == configured_.url.adapter) continue;
    const bool yes = co_await speaks(fiber, other);
    if (!yes) continue;
    found(symptom_of(other), std::string(word_for(configured_.url.adapter)));
    co_return true;
  }
  co_return false;
}

// What only some adapters have.
net::Task<void> Examination::examine_adapter(net::Fiber& fiber, Answer answer) {
  switch (configured_.url.adapter) {
    case Adapter::http:
    case Adapter::fastcgi: found_all(answer.heard); break;
    case Adapter::ajp: co_await examine_ajp(fiber, std::move(answer)); break;
    case Adapter::scgi:
    case Adapter::uwsgi: co_await examine_block(fiber, std::move(answer)); break;
    case Adapter::cgi: break;  // not a server
  }
}

net::Task<void> Examination::examine_ajp(net::Fiber& fiber, Answer answer) {
  const auto is_refusal = [](const Heard& h) {
    return h.symptom == Symptom::secret_missing || h.symptom == Symptom::secret_wrong;
  };
  if (std::any_of(answer.heard.begin(), answer.heard.end(), is_refusal)) {
    const auto plain =
        co_await ask_plainly(bench_.reactor, addresses_.front(), contact_.server().settings(), question_);
    if (plain && *plain != 403) {
      found(Symptom::attribute_refused, "JK_LB_ACTIVATION");
      co_return;
    }
  }
  found_all(answer.heard);
  const std::size_t size = backend_.packet_size;
  if (diagnosis_.has(Weight::error) || size <= 8192) co_return;
  const auto large = co_await ask_large(fiber, size);
  const bool asked = large.answered || large.error.source == util::Source::server;
  const bool taken = large.answered && (large.status != 400 || answer.status == 400);
  if (asked && !taken) found(Symptom::packet_smaller, std::to_string(size));
}

net::Task<void> Examination::examine_block(net::Fiber& fiber, Answer answer) {
  if (answer.status == 400) {
    const bool http = co_await speaks(fiber, Adapter::http);
    if (http) {
      found(Symptom::speaks_http, std::string(word_for(configured_.url.adapter)));
      co_return;
    }
  }
  found_all(answer.heard);
  if (configured_.url.adapter != Adapter::uwsgi || backend_.max_vars <= kUwsgiDefault) co_return;
  const auto large = co_await ask_large(fiber, backend_.max_vars);
  const bool asked = large.answered || large.error.source == util::Source::server;
  if (asked && !large.answered) found(Symptom::uwsgi_buffer, std::to_string(backend_.max_vars));
}

net::Task<Answer> Examination::ask_large(net::Fiber& fiber, std::size_t most) {
  Answer answer;
  // The rest of the question has a size of its own, which the adapter knows: it refuses what does not fit.
  for (std::size_t rest = 512; rest < most; rest *= 2) {
    answer = co_await contact_.ask(fiber, question_, most - rest);
    const bool too_large = !answer.answered && answer.error.kind == ErrorKind::limit;
    if (!too_large) break;
  }
  co_return answer;
}

// The server's clock for idle connections, as far as it can be seen: it said so, or closes within the watch.
net::Task<void> Examination::watch_idle() {
  const auto& pool = contact_.server().pool();
  const std::uint64_t ours = config::ms(backend_.connections.idle_timeout);
  if (ours <= kOwnCloseMs) co_return;
  const std::uint64_t began = bench_.reactor.now_ms();
  const std::uint64_t until = began + std::min(options_.idle_ms, ours - kOwnCloseMs);
  while (pool.gauges().idle > 0 && bench_.reactor.now_ms() < until) {
    net::Pause pause(bench_.reactor.after(kPollMs));
    co_await pause;
    if (pool.gauges().idle > 0) continue;
    found(Symptom::idle_longer, upstream::duration_text(bench_.reactor.now_ms() - began));
  }
}

net::Task<void> Examination::open_pool(net::Fiber& fiber) {
  if (configured_.url.adapter != Adapter::ajp) co_return;
  const int most = std::min(backend_.connections.max, kMostConnections);
  const int opened = co_await contact_.open_many(fiber, most);
  if (opened < most) found(Symptom::pool_larger, std::to_string(opened));
}

}  // namespace pontage::probe
