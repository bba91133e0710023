// Examination: finds out what is wrong between the gateway and one server. It asks as traffic would, listens to what
// the adapter notices, and where that does not say enough asks again in other words: without what may be refused,
// larger, or in another protocol. Every wait has a deadline. The probe's one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/probe/contact.h"

namespace pontage::probe {

struct Options {
  std::string path;              // asked for; empty: what the first route to the backend names
  std::uint64_t idle_ms = 6000;  // how long a kept connection is watched for the server closing it; 0: not at all
  bool open_pool = false;        // AJP: open as many connections as the pool may
};

struct Finding {
  upstream::Symptom symptom;
  std::string detail;
};

// What is known of a server afterwards. Without findings it is well.
struct Diagnosis {
  int status = 0;             // of its answer
  std::uint64_t took_ns = 0;  // of the whole question, connecting included
  std::string path;           // what was asked for
  std::vector<Finding> findings;
  std::string unknown;  // a failure that no symptom stands for

  bool has(upstream::Weight weight) const noexcept;
};

class Examination {
 public:
  // Everything outlives the run.
  Examination(Bench& bench, const config::Config& config, const config::Backend& backend, const config::Server& server,
              const Options& options);

  net::Task<void> run(net::Fiber& fiber);
  const Diagnosis& diagnosis() const noexcept { return diagnosis_; }

 private:
  net::Task<void> ask_first(net::Fiber& fiber);
  // No answer came: why, if need be by asking in other protocols.
  net::Task<void> explain(net::Fiber& fiber, Answer answer);
  net::Task<bool> speaks(net::Fiber& fiber, config::Adapter other);
  net::Task<bool> identify(net::Fiber& fiber);
  net::Task<void> examine_adapter(net::Fiber& fiber, Answer answer);
  net::Task<void> examine_ajp(net::Fiber& fiber, Answer answer);
  net::Task<void> examine_block(net::Fiber& fiber, Answer answer);
  // A question nearly as large as `most` bytes; nothing when no such question could be made.
  net::Task<Answer> ask_large(net::Fiber& fiber, std::size_t most);
  net::Task<void> watch_idle();
  net::Task<void> open_pool(net::Fiber& fiber);
  void found(upstream::Symptom symptom, std::string detail = {});
  void found_all(const std::vector<Heard>& heard);
  bool has_found(upstream::Symptom symptom) const noexcept;

  Bench& bench_;
  const config::Config& config_;
  const config::Backend& backend_;
  const config::Server& configured_;
  const Options& options_;
  const Question question_;
  Contact contact_;
  std::vector<net::Address> addresses_;
  Diagnosis diagnosis_;
};

}  // namespace pontage::probe
