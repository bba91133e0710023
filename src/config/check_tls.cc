#include "src/config/check.h"

namespace pontage::config {
namespace {

std::string path_of_tls(std::size_t listener) {
  return "listeners[" + std::to_string(listener) + "].tls";
}

void check_client_auth(const ListenerTls& tls, const std::string& path, const Places& places, Problems& problems) {
  const bool asks = tls.client_auth != ListenerTls::ClientAuth::off;
  if (asks && tls.client_ca.empty()) {
    problems.error(place_in(places, path + ".client_auth"),
                   "`client_auth` needs a `client_ca`: who may have signed the certificates");
  }
  if (asks) return;
  for (const char* key : {"client_ca", "forward_cert"}) {
    if (!places.contains(path + "." + key)) continue;
    problems.warning(place_in(places, path + "." + key),
                     "`" + std::string(key) + "` has no effect: no client is asked for a certificate (`client_auth`)");
  }
}

}  // namespace

void check_listener_tls(const Config& config, const Places& places, Problems& problems) {
  for (std::size_t i = 0; i < config.listeners.size(); ++i) {
    const auto& tls = config.listeners[i].tls;
    const auto path = path_of_tls(i);
    if (!places.contains(path)) continue;
    if (tls.certificates.empty() && places.contains(path + ".certificates")) {
      problems.error(place_in(places, path + ".certificates"), "at least one certificate is needed");
    }
    check_client_auth(tls, path, places, problems);
    if (!tls.ciphers.empty() && tls.min_version == TlsVersion::tls13) {
      problems.warning(place_in(places, path + ".ciphers"), "`ciphers` has no effect: it is about TLS 1.2 alone");
    }
    if (!tls.ticket_key_files.empty() && !tls.tickets) {
      problems.warning(place_in(places, path + ".ticket_keys"), "`ticket_keys` has no effect without `tickets`");
    }
  }
}

}  // namespace pontage::config
