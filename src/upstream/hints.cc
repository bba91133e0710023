#include "src/upstream/hints.h"

#include <algorithm>
#include <cerrno>

#include "protocols/wire/ascii.h"
#include "src/observe/log.h"
#include "src/util/clock.h"

namespace pontage::upstream {

using util::ErrorKind;
using util::Source;

namespace {

using enum Weight;

// In the order of Symptom.
constexpr std::array<Hint, kSymptoms> kHints{{
    {"unresolved", error, "its name {} does not resolve", "correct the host in `url`, or the system's resolver"},
    {"refused", error, "nobody listens at {}",
     "is it running, and on this address? Tomcat's AJP connector listens on the loopback address unless its `address` "
     "says otherwise"},
    {"no_route", error, "there is no way to {}", "correct the host in `url`, or the network in between"},
    {"connect_timeout", error, "{} neither accepts nor refuses a connection",
     "a firewall drops it or the host is down; else raise `timeouts.connect`"},
    {"socket_missing", error, "there is no socket {}",
     "start the server, or correct the path in `url` (PHP-FPM: `listen`, uWSGI: `socket`)"},
    {"socket_forbidden", error, "this user may not open the socket {}",
     "let the gateway's `user` write to it and enter its folder (PHP-FPM: `listen.owner`, `listen.group`, "
     "`listen.mode`; uWSGI: `chmod-socket`)"},
    {"socket_dead", error, "nobody listens at the socket {}", "start the server; the file was left by one that ended"},
    {"backlog_full", error, "its backlog at {} is full",
     "raise the server's backlog (PHP-FPM: `listen.backlog`, uWSGI: `listen`; the system's net.core.somaxconn) or its "
     "processes"},

    {"speaks_http", error, "it speaks HTTP, not {}", "write `http://` in `url`, or give the port where it speaks {}"},
    {"speaks_tls", error, "it speaks TLS, which {} is not", "give the port where it speaks {} without TLS"},
    {"speaks_ajp", error, "it speaks AJP, not {}", "write `ajp://` in `url`, or give the port where it speaks {}"},
    {"speaks_fastcgi", error, "it speaks FastCGI, not {}",
     "write `fastcgi://` in `url`, or give the port where it speaks {}"},
    {"speaks_scgi", error, "it speaks SCGI, not {}", "write `scgi://` in `url`, or give the port where it speaks {}"},
    {"speaks_uwsgi", error, "it speaks uwsgi, not {}",
     "write `uwsgi://` in `url`, or give the port where it speaks {}"},
    {"garbled", error, "what it sends is not {}", "is the port in `url` the right one?"},
    {"closes", error, "it closes the connection without an answer",
     "is the port in `url` one for {}? The server's log may say more"},
    {"silent", error, "it accepts a connection and sends nothing within {}",
     "see what it waits for, or whether all its threads or processes are busy; else raise `timeouts.first_byte`"},

    {"tls_failed", error, "no TLS could be agreed on with it: {}",
     "if the certificate is what is wrong, set `tls.ca` to its authority's or `tls.server_name` to its name; if it "
     "speaks "
     "no TLS at this port, write `http://`"},

    {"no_cpong", error, "it does not answer CPING", "is the port in `url` one for AJP, and is the container up?"},
    {"secret_missing", error, "it refuses requests as an AJP connector does that wants a secret (403, closed)",
     "set `secret_file` to a file with the connector's `secret`, or set secretRequired=\"false\" there"},
    {"secret_wrong", error, "it refuses requests as an AJP connector does that wants another secret (403, closed)",
     "make `secret_file` and the connector's `secret` equal; if they are, a request attribute is refused: see its "
     "`allowedRequestAttributesPattern`"},
    {"attribute_refused", error, "it refuses requests with the attributes that the gateway sends ({})",
     "allow them in the connector's `allowedRequestAttributesPattern`"},
    {"packet_smaller", error, "it does not take an AJP packet of {} bytes",
     "make `packet_size` and the connector's `packetSize` equal"},
    {"packet_larger", error, "it uses AJP packets of more than {} bytes",
     "make `packet_size` and the connector's `packetSize` equal"},
    {"packet_overflow", error, "a field of its answer did not fit into its AJP packet",
     "raise the connector's `packetSize`, and `packet_size` with it"},

    {"script_unknown", error, "it finds no script {}",
     "`document_root` (or `script`) is a path as the server sees it, in its container or chroot; or the file is not "
     "there"},
    {"script_denied", error, "it may not run {}",
     "PHP-FPM's `security.limit_extensions` lists what may be run; let `extensions` name no other"},
    {"uwsgi_buffer", warning, "it closes without an answer to {} bytes of variables",
     "if it is uWSGI, raise its `buffer-size` (4096 by default); make `max_vars` equal to it"},

    {"idle_longer", warning, "it closes connections that were idle for {}",
     "set `connections.idle_timeout` below that, or raise the server's (Tomcat: `keepAliveTimeout`)"},
    {"pool_larger", warning, "it leaves a further connection unanswered while {} are in use",
     "lower `connections.max`, or raise the server's limit (Tomcat: `maxThreads`, `maxConnections`)"},
}};

bool begins_with(std::string_view text, std::string_view lower_start) noexcept {
  return text.size() >= lower_start.size() && wire::iequals(text.substr(0, lower_start.size()), lower_start);
}

void append_about(std::string& out, std::string_view text, std::string_view detail) {
  for (auto at = text.find("{}"); at != std::string_view::npos; at = text.find("{}")) {
    out += text.substr(0, at);
    out += detail;
    text.remove_prefix(at + 2);
  }
  out += text;
}

}  // namespace

const Hint& hint_for(Symptom symptom) noexcept {
  return kHints[static_cast<std::size_t>(symptom)];
}

std::string sentence(Symptom symptom, std::string_view detail) {
  const Hint& hint = hint_for(symptom);
  std::string out;
  append_about(out, hint.says, detail);
  out += "; ";
  append_about(out, hint.remedy, detail);
  return out;
}

std::optional<Symptom> symptom_of_connect(const util::Error& error, bool unix_socket) noexcept {
  if (error.kind == ErrorKind::unresolved) return Symptom::unresolved;
  if (error.kind == ErrorKind::overload && error.os_error == EAGAIN) return Symptom::backlog_full;
  if (error.source != Source::server) return std::nullopt;
  if (error.kind == ErrorKind::timeout) return Symptom::connect_timeout;
  if (error.kind != ErrorKind::refused) return std::nullopt;
  switch (error.os_error) {
    case ENOENT:
    case ENOTDIR: return Symptom::socket_missing;
    case EACCES:
    case EPERM: return unix_socket ? Symptom::socket_forbidden : Symptom::no_route;
    case ETIMEDOUT: return Symptom::connect_timeout;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
    case EADDRNOTAVAIL: return Symptom::no_route;
    default: return unix_socket ? Symptom::socket_dead : Symptom::refused;
  }
}

Symptom symptom_of_bytes(std::string_view first) noexcept {
  // Some answer a request that they do not understand with a page alone.
  for (const std::string_view start : {"http/", "<!doctype", "<html"}) {
    const auto most = std::min(start.size(), first.size());
    if (most >= 4 && begins_with(first, start.substr(0, most))) return Symptom::speaks_http;
  }
  // An alert or a handshake record of version 3.
  if (first.size() >= 2 && (first[0] == '\x15' || first[0] == '\x16') && first[1] == '\x03') return Symptom::speaks_tls;
  // A packet of AJP's: its magic, a length, a type.
  if (first.size() >= 5 && first.starts_with("AB") && first[4] > 2 && first[4] < 10) return Symptom::speaks_ajp;
  return Symptom::garbled;
}

std::optional<std::uint64_t> IdleClosings::closed(std::uint64_t now_ms, std::uint64_t age_ms) noexcept {
  if (age_ms < kLeastAgeMs) return std::nullopt;
  const bool same_event = count_ > 0 && now_ms < last_ms_ + kApartMs;
  const std::uint64_t apart = age_ms > age_ms_ ? age_ms - age_ms_ : age_ms_ - age_ms;
  // Servers look at their clocks once a second or so.
  const bool alike = apart <= std::max<std::uint64_t>(1100, age_ms_ / 8);
  const bool forgotten = now_ms > last_ms_ + age_ms + kForgetMs;
  if (same_event && alike) return std::nullopt;
  last_ms_ = now_ms;
  if (count_ == 0 || !alike || forgotten || same_event) {
    age_ms_ = age_ms;
    count_ = 1;
    return std::nullopt;
  }
  age_ms_ = std::min(age_ms, age_ms_);
  if (++count_ < kEnough) return std::nullopt;
  return age_ms_;
}

bool Hints::admit(Symptom symptom, std::uint64_t now_ms) noexcept {
  auto& quiet_until = quiet_until_ms_[static_cast<std::size_t>(symptom)];
  std::uint64_t until = quiet_until.load(std::memory_order_relaxed);
  if (now_ms < until) return false;
  return quiet_until.compare_exchange_strong(until, now_ms + kQuietMs, std::memory_order_relaxed);
}

void Hints::note(Symptom symptom, std::string_view detail) noexcept {
  try {
    if (listener_) {
      listener_(symptom, detail);
    } else if (admit(symptom, util::monotonic_ns() / 1'000'000)) {
      observe::log::warn("hint: backend {} server {}: {}", backend_, server_, sentence(symptom, detail));
    }
  } catch (...) {
    // A hint that finds no memory is given another time.
  }
}

void Hints::note_idle_closing(std::uint64_t now_ms, std::uint64_t age_ms) noexcept {
  std::optional<std::uint64_t> age;
  {
    const std::lock_guard guard(lock_);
    age = closings_.closed(now_ms, age_ms);
  }
  if (!age) return;
  try {
    note(Symptom::idle_longer, duration_text(*age));
  } catch (...) {
    // As above.
  }
}

std::string duration_text(std::uint64_t milliseconds) {
  if (milliseconds < 1000) return std::to_string(milliseconds) + "ms";
  std::string text = std::to_string(milliseconds / 1000);
  if (const auto tenths = milliseconds % 1000 / 100; tenths != 0) text += "." + std::to_string(tenths);
  return text + "s";
}

}  // namespace pontage::upstream
