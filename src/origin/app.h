// App: the application behind `pontage origin`, the same over every protocol. The first known word among a path's
// segments says what to answer: /bytes/N, /echo, /upload, /info, /session, /status/NNN, /stream, /headers/N, /counter,
// /token, /early, /interim, /fault/KIND; the options of query.h go with each. One per Origin, shared by its workers;
// any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "src/origin/channel.h"
#include "src/origin/options.h"
#include "src/origin/query.h"

namespace pontage::origin {

class App {
 public:
  explicit App(OriginOptions options) : options_(std::move(options)) {}

  // Answers one request. An error means that the connection is of no more use.
  net::Task<Done> serve(Channel& channel);

  const OriginOptions& options() const noexcept { return options_; }
  std::uint64_t next_connection() noexcept { return connections_.fetch_add(1, std::memory_order_relaxed) + 1; }

  // How often `key` was counted, this time included. nullopt: too many keys.
  std::optional<std::uint64_t> count(std::string_view key);
  std::uint64_t counted(std::string_view key);

 private:
  static constexpr std::size_t kMaxKeys = 100'000;

  const OriginOptions options_;
  std::atomic<std::uint64_t> connections_{0};
  std::mutex lock_;
  std::map<std::string, std::uint64_t, std::less<>> counters_;  // guarded by lock_
};

// One request on its way through the application.
struct Call {
  App& app;
  Channel& channel;
  const message::RequestHead& request;
  std::string_view argument{};  // the segment after the word
  Options options{};
};

// Begins the answer; `length` nullopt: unknown beforehand. Options can make it unknown, too.
void begin_answer(Call& call, int status, std::string_view type, std::optional<std::uint64_t> length);
// As above with more fields: `head.headers` and `head.status` are set, the rest is decided here.
void begin_answer(Call& call, message::ResponseHead& head, std::string_view type, std::optional<std::uint64_t> length);
// A whole answer. `body` may lie in the channel's scratch string.
void answer(Call& call, int status, std::string_view type, std::string_view body);
// Ends what begin_answer began: the trailer, when one was asked for.
void end_answer(Call& call);

inline constexpr std::string_view kText = "text/plain";
inline constexpr std::string_view kJson = "application/json";

// Answers that look at the request's body or take their time (app_bodies.cc).
net::Task<Done> serve_bytes(Call& call);
net::Task<Done> serve_echo(Call& call);
net::Task<Done> serve_upload(Call& call);
net::Task<Done> serve_info(Call& call);
net::Task<Done> serve_stream(Call& call);
net::Task<Done> serve_fault(Call& call);

// Answers that are ready at once (app_answers.cc).
void serve_status(Call& call);
void serve_headers(Call& call);
void serve_token(Call& call);
void serve_session(Call& call);
void serve_counter(Call& call);
void serve_early(Call& call);
void serve_interim(Call& call);
void serve_other(Call& call);
// A body of at most 8 KiB; false: it is more.
bool serve_few_bytes(Call& call);

}  // namespace pontage::origin
