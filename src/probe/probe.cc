#include "src/probe/probe.h"

#include <algorithm>
#include <csignal>
#include <memory>
#include <ostream>

#include <fmt/format.h>

#include "src/observe/log.h"

namespace pontage::probe {
namespace {

// For a whole round, beside the time that idle connections are watched: a server that goes on saying nothing of use
// does not keep the report from the others.
constexpr std::uint64_t kRoundMs = 90'000;

struct Round;

// One server's examination on a fiber of its own.
struct Visit {
  Visit(Bench& bench, const config::Config& config, const config::Backend& b, const config::Server& s,
        const Options& options)
      : backend(b), server(s), fiber(bench.reactor), examination(bench, config, b, s, options) {}

  const config::Backend& backend;
  const config::Server& server;
  net::Fiber fiber;
  Examination examination;
  Round* round = nullptr;
  bool ended = false;
  bool late = false;
};

struct Round : net::Timer {
  Round() noexcept : Timer(&Round::over) {}

  Bench bench;
  std::vector<std::unique_ptr<Visit>> visits;
  std::size_t left = 0;

  static void ended(void* of_visit) noexcept {
    auto* visit = static_cast<Visit*>(of_visit);
    visit->ended = true;
    if (--visit->round->left == 0) visit->round->bench.reactor.stop();
  }
  static void over(net::Timer& timer) noexcept {
    for (auto& visit : static_cast<Round&>(timer).visits) {
      if (visit->ended) continue;
      visit->late = true;
      visit->fiber.cancel();
    }
  }
};

std::string milliseconds(std::uint64_t nanoseconds) {
  return fmt::format("{:.1f} ms", static_cast<double>(nanoseconds) / 1e6);
}

void report(const std::string& file, const Visit& visit, std::ostream& fine, std::ostream& wrong) {
  const Diagnosis& diagnosis = visit.examination.diagnosis();
  const auto line = [&](std::ostream& out, std::string_view level, std::string_view text) {
    const auto& place = visit.server.place;
    out << file << ':' << place.line << ':' << place.column << ": " << level << ": backend `" << visit.backend.name
        << "` server `" << visit.server.name << "`: " << text << std::endl;
  };
  for (const auto& finding : diagnosis.findings) {
    const bool error = upstream::hint_for(finding.symptom).weight == upstream::Weight::error;
    line(wrong, error ? "error" : "warning", upstream::sentence(finding.symptom, finding.detail));
  }
  if (visit.late) {
    line(wrong, "error", "it answers without end: the examination was given up");
  } else if (!diagnosis.unknown.empty()) {
    line(wrong, "error", "it could not be asked: " + diagnosis.unknown);
  }
  if (visit.late || !diagnosis.findings.empty() || !diagnosis.unknown.empty()) return;
  line(fine, "ok",
       fmt::format("HEAD {} is answered with {} in {}", diagnosis.path, diagnosis.status,
                   milliseconds(diagnosis.took_ns)));
}

}  // namespace

Verdict probe(const config::Config& config, const Options& options, std::ostream& fine, std::ostream& wrong) {
  std::signal(SIGPIPE, SIG_IGN);
  observe::log::set_level(observe::log::Level::error);  // what a worker would log is in the report
  Round round;
  for (const auto& backend : config.backends) {
    for (const auto& server : backend.servers) {
      round.visits.push_back(std::make_unique<Visit>(round.bench, config, backend, server, options));
    }
  }
  if (round.visits.empty()) {
    fine << config.file << ": there are no servers to probe\n";
    return Verdict::fine;
  }
  round.left = round.visits.size();
  for (auto& visit : round.visits) {
    visit->round = &round;
    net::launch(visit->fiber, visit->examination.run(visit->fiber), &Round::ended, visit.get());
  }
  round.bench.reactor.wheel().schedule(round, round.bench.reactor.after(kRoundMs + options.idle_ms));
  round.bench.reactor.run();
  std::stable_sort(round.visits.begin(), round.visits.end(),
                   [](const auto& a, const auto& b) { return a->backend.name < b->backend.name; });
  Verdict verdict = Verdict::fine;
  for (const auto& visit : round.visits) {
    report(config.file, *visit, fine, wrong);
    const Diagnosis& diagnosis = visit->examination.diagnosis();
    if (diagnosis.has(upstream::Weight::warning)) verdict = std::max(verdict, Verdict::warned);
    if (visit->late || diagnosis.has(upstream::Weight::error)) verdict = Verdict::failed;
  }
  // What is still idle or posted goes with the reactor's last turn.
  round.visits.clear();
  round.bench.reactor.run();
  return verdict;
}

}  // namespace pontage::probe
