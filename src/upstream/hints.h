// Hints: what is wrong between the gateway and one of its servers, in the administrator's words, with the setting to
// change. One table for both who tell: the error log, when traffic shows the symptom, and `pontage check --probe`,
// which goes looking for it (ADAPTERS P9). Adapters note symptoms where they see them; any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "src/util/error.h"

namespace pontage::upstream {

enum class Symptom : std::uint8_t {
  // It is not reached.
  unresolved,
  refused,
  no_route,
  connect_timeout,
  socket_missing,
  socket_forbidden,
  socket_dead,
  backlog_full,
  // It speaks something else, or does not answer.
  speaks_http,
  speaks_tls,
  speaks_ajp,
  speaks_fastcgi,
  speaks_scgi,
  speaks_uwsgi,
  garbled,
  closes,
  silent,
  tls_failed,
  // AJP
  no_cpong,
  secret_missing,
  secret_wrong,
  attribute_refused,
  packet_smaller,
  packet_larger,
  packet_overflow,
  // Servers that get CGI variables
  script_unknown,
  script_denied,
  uwsgi_buffer,
  // The pool
  idle_longer,
  pool_larger,
  count_
};
inline constexpr std::size_t kSymptoms = static_cast<std::size_t>(Symptom::count_);

// `error`: requests fail, or will. `warning`: some do, some day.
enum class Weight : std::uint8_t { warning, error };

struct Hint {
  std::string_view name;  // stable, snake_case
  Weight weight;
  std::string_view says;    // what the server does; `{}` stands for the detail
  std::string_view remedy;  // the setting to change; here, too
};
const Hint& hint_for(Symptom symptom) noexcept;
// "it speaks HTTP, not AJP; write `http://` in its `url`, or ...": the sentence of `symptom` about `detail`.
std::string sentence(Symptom symptom, std::string_view detail);

// What a connection that did not come about shows; nullopt when it is nothing of the server's.
std::optional<Symptom> symptom_of_connect(const util::Error& error, bool unix_socket) noexcept;
// What the first bytes of an answer show when they were not understood; `garbled` when they look like nothing known.
Symptom symptom_of_bytes(std::string_view first) noexcept;

// Whether a server closes idle connections by a clock of its own. Three closings that follow one another at about the
// same age say so; one restart, which closes all at once, does not. Not synchronised.
class IdleClosings {
 public:
  static constexpr std::uint64_t kLeastAgeMs = 100;  // younger ones: it counts requests, not time
  static constexpr std::uint64_t kApartMs = 50;      // closings nearer than this are one event
  static constexpr std::uint64_t kForgetMs = 600'000;
  static constexpr int kEnough = 3;

  // A connection was closed by the server after `age_ms` without a request. The age to tell, once it is certain.
  std::optional<std::uint64_t> closed(std::uint64_t now_ms, std::uint64_t age_ms) noexcept;

 private:
  std::uint64_t last_ms_ = 0;
  std::uint64_t age_ms_ = 0;
  int count_ = 0;
};

// The hints about one server: belongs to its BackendServer and outlives configurations with it.
class Hints {
 public:
  static constexpr std::uint64_t kQuietMs = 60'000;  // between two of one symptom
  using Listener = std::function<void(Symptom, std::string_view detail)>;

  Hints(std::string backend, std::string server) : backend_(std::move(backend)), server_(std::move(server)) {}

  // The symptom was seen. Told in the log once, then not again for a minute; costs two loads meanwhile. `detail` is
  // what the sentence is about: an address, a size, a script; never a secret.
  void note(Symptom symptom, std::string_view detail = {}) noexcept;
  // The server closed a connection that had been idle for so long.
  void note_idle_closing(std::uint64_t now_ms, std::uint64_t age_ms) noexcept;
  // Whether the symptom is to be told at this time; if so, it is told for a while.
  bool admit(Symptom symptom, std::uint64_t now_ms) noexcept;
  // Everything noted goes here instead, without a limit. Before the first note.
  void listen(Listener listener) { listener_ = std::move(listener); }

 private:
  const std::string backend_;
  const std::string server_;
  Listener listener_;
  std::array<std::atomic<std::uint64_t>, kSymptoms> quiet_until_ms_{};
  std::mutex lock_;
  IdleClosings closings_;  // guarded by lock_
};

// "5s", "1.5s", "250ms".
std::string duration_text(std::uint64_t milliseconds);

}  // namespace pontage::upstream
