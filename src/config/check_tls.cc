#include <algorithm>

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

void check_backend_tls(const Backend& backend, const Places& places, Problems& problems) {
  const auto path = "backends." + backend.name + ".tls";
  const auto of_tls = [](const Server& server) { return server.url.tls; };
  const bool any = std::any_of(backend.servers.begin(), backend.servers.end(), of_tls);
  if (places.contains(path) && !any) {
    problems.warning(place_in(places, path), "`tls` has no effect: `" + backend.name + "` has no https server");
  }
  if (!any) return;
  if (!backend.tls.verify) {
    problems.warning(place_in(places, path + ".verify"),
                     "without `verify` whoever answers at a server's address is believed to be the server");
  }
  for (const auto& server : backend.servers) {
    if (!server.url.tls || !backend.tls.verify || !server.url.host.empty() || !backend.tls.server_name.empty())
      continue;
    problems.error(server.place, "a unix socket's URL names no host: `tls` needs a `server_name` to expect");
  }
  if (backend.tls.cert.empty() && places.contains(path + ".key")) {
    problems.error(place_in(places, path + ".key"), "a `key` needs the `cert` it belongs to");
  }
}

}  // namespace

void check_tls_keys(const Config& config, const Places& places, Problems& problems) {
  for (const auto& backend : config.backends) check_backend_tls(backend, places, problems);
  for (std::size_t i = 0; i < config.listeners.size(); ++i) {
    const auto& tls = config.listeners[i].tls;
    const auto path = path_of_tls(i);
    if (config.listeners[i].redirect_port != 0 && places.contains(path)) {
      problems.error(place_in(places, "listeners[" + std::to_string(i) + "].redirect_to_https"),
                     "this listener speaks TLS itself: nobody needs to be sent to https");
    }
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
