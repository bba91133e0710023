#include "src/net/tls_check.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "src/net/tls_client.h"
#include "src/net/tls_server.h"

namespace pontage::net {
namespace {

constexpr std::int64_t kSoon = 7 * 86'400;

void warn_of(const config::TlsPair& pair, const TlsIdentity& identity, std::vector<config::Problem>& problems) {
  const std::int64_t now = std::time(nullptr);
  const auto warn = [&](const std::string& text) {
    problems.push_back({config::Severity::warning, pair.place, "the certificate `" + pair.cert + "` " + text});
  };
  if (identity.not_after <= now) {
    warn("has expired");
  } else if (identity.not_after <= now + kSoon) {
    warn("expires within a week");
  }
  if (identity.not_before > now) warn("is not valid yet");
  if (!identity.ocsp.empty() && identity.ocsp_until <= now) warn("has an OCSP response that is stale: none is sent");
}

// Every pair by itself first, so that all that is wrong is said at once.
bool check_pairs(const config::ListenerTls& tls, std::vector<config::Problem>& problems) {
  bool fine = true;
  for (const auto& pair : tls.certificates) {
    const auto identity = load_identity(pair);
    if (identity) {
      warn_of(pair, *identity, problems);
    } else {
      problems.push_back({config::Severity::error, pair.place, identity.error()});
      fine = false;
    }
  }
  return fine;
}

void check_listener(const config::Listener& listener, std::vector<config::Problem>& problems) {
  if (!check_pairs(listener.tls, problems)) return;
  const auto server = TlsServer::make(listener.tls, listener.bind, std::make_shared<TicketKeys>(86'400));
  if (!server) {
    problems.push_back({config::Severity::error, server.error().place, server.error().text});
    return;
  }
  for (std::size_t i = 0; i < listener.tls.certificates.size(); ++i) {
    const auto& pair = listener.tls.certificates[i];
    if ((*server)->shows(i)) continue;
    problems.push_back({config::Severity::warning, pair.place,
                        "the certificate `" + pair.cert + "` is never shown: " +
                            ((*server)->identities()[i].names.empty()
                                 ? "it names no host"
                                 : "another one with the same kind of key is good for its names")});
  }
}

}  // namespace

void check_tls(const config::Config& config, std::vector<config::Problem>& problems) {
  for (const auto& listener : config.listeners) {
    if (listener.tls.enabled()) check_listener(listener, problems);
  }
  for (const auto& backend : config.backends) {
    const bool tls = std::any_of(backend.servers.begin(), backend.servers.end(),
                                 [](const config::Server& server) { return server.url.tls; });
    if (!tls) continue;
    const auto client = TlsClient::make(backend.tls, backend.servers.front().url.host, 0);
    if (!client) problems.push_back({config::Severity::error, backend.tls.place, client.error()});
  }
  std::stable_sort(problems.begin(), problems.end(), [](const config::Problem& a, const config::Problem& b) {
    return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
  });
}

}  // namespace pontage::net
