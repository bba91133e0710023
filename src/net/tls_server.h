// TlsServer: the TLS side of one listener: its certificates by name, and what it agrees to. Made at start and at each
// reload on the control thread; immutable then and shared by the workers; connections keep the one they began with.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/config.h"
#include "src/net/tls_facts.h"
#include "src/net/tls_identity.h"
#include "src/net/tls_tickets.h"

namespace pontage::net {

class TlsServer : public std::enable_shared_from_this<TlsServer> {
 public:
  struct Problem {
    config::Place place;
    std::string text;
  };
  // `name` keeps the sessions of different listeners apart. `keys` seal its tickets, unless it has files of its own.
  static wire::Expected<std::shared_ptr<const TlsServer>, Problem> make(const config::ListenerTls& config,
                                                                        std::string_view name,
                                                                        std::shared_ptr<TicketKeys> keys);

  // A connection's state, before its handshake; nullptr without memory.
  SslPtr new_connection() const noexcept;
  // What became of the handshake of `ssl`.
  std::shared_ptr<const TlsFacts> facts(SSL* ssl) const;
  // Whether the certificates of `site` are good for `host`, or no others are better: what else came over the connection
  // of another name belongs elsewhere (421, RFC 9110 7.4).
  bool covers(std::size_t site, std::string_view host) const noexcept;

  // Whether anybody gets to see the certificate of this number.
  bool shows(std::size_t identity) const noexcept;

  const config::ListenerTls& config() const noexcept { return config_; }
  const std::vector<TlsIdentity>& identities() const noexcept { return identities_; }

 private:
  // The certificates shown for some names: at most one of each kind of key.
  struct Site {
    std::vector<std::size_t> identities;
    SslContextPtr context;
  };

  explicit TlsServer(const config::ListenerTls& config) : config_(config) {}
  std::string prepare(std::string_view name);
  std::string add_site(const std::string& host, std::size_t first);
  std::string make_context(Site& site) const;
  std::string ask_clients(SSL_CTX* context) const;
  std::size_t find(std::string_view host) const noexcept;

  static int on_server_name(SSL* ssl, int* alert, void* self);
  static int on_alpn(SSL* ssl, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                     unsigned offered_size, void* self);
  static int on_status(SSL* ssl, void* self);
  static int on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
                       int seal);

  config::ListenerTls config_;
  std::vector<TlsIdentity> identities_;
  std::vector<Site> sites_;                                // the first is for names that nobody has
  std::map<std::string, std::size_t, std::less<>> names_;  // to a site
  std::shared_ptr<TicketKeys> keys_;
  std::string session_context_;
  std::string alpn_;  // as on the wire
  std::string hsts_;
};

}  // namespace pontage::net
