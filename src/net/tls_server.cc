#include "src/net/tls_server.h"

#include <algorithm>
#include <ctime>

#include <openssl/pem.h>

#include "src/config/addresses.h"
#include "src/net/tls_certificate_text.h"

namespace pontage::net {
namespace {

// Mozilla's intermediate profile, those with ephemeral elliptic curves: all that its oldest clients need.
constexpr const char* kCiphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

// "a.example." is "a.example".
std::string_view without_last_dot(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

}  // namespace

wire::Expected<std::shared_ptr<const TlsServer>, TlsServer::Problem> TlsServer::make(const config::ListenerTls& config,
                                                                                     std::string_view name,
                                                                                     std::shared_ptr<TicketKeys> keys) {
  using Wrong = wire::Unexpected<Problem>;
  std::shared_ptr<TlsServer> made(new TlsServer(config));
  for (const auto& pair : config.certificates) {
    auto identity = load_identity(pair);
    if (!identity) return Wrong(Problem{pair.place, identity.error()});
    made->identities_.push_back(*std::move(identity));
  }
  made->keys_ = std::move(keys);
  if (!config.ticket_key_files.empty()) {
    auto fixed = TicketKeys::read(config.ticket_key_files);
    if (!fixed) return Wrong(Problem{config.place, fixed.error()});
    made->keys_ = std::make_shared<TicketKeys>(*std::move(fixed));
  }
  auto error = made->prepare(name);
  if (!error.empty()) return Wrong(Problem{config.place, std::move(error)});
  return std::shared_ptr<const TlsServer>(std::move(made));
}

std::string TlsServer::prepare(std::string_view name) {
  for (const auto& protocol : config_.alpn) {
    alpn_ += static_cast<char>(protocol.size());
    alpn_ += protocol;
  }
  if (config_.hsts.count() > 0) hsts_ = "max-age=" + std::to_string(config_.hsts.count() / 1000);
  // A session is resumed only where the same was asked of its client.
  const std::string told =
      std::string(name) + '\n' + config_.client_ca + '\n' + std::to_string(static_cast<int>(config_.client_auth));
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(told.data(), told.size(), digest, &size, EVP_sha256(), nullptr);
  session_context_.assign(reinterpret_cast<char*>(digest), std::min<std::size_t>(size, SSL_MAX_SID_CTX_LENGTH));
  const auto& names = identities_.front().names;
  if (auto error = add_site(names.empty() ? std::string() : names.front(), 0); !error.empty()) return error;
  for (std::size_t i = 0; i < identities_.size(); ++i) {
    for (const auto& host : identities_[i].names) {
      if (names_.contains(host)) continue;
      if (auto error = add_site(host, i); !error.empty()) return error;
    }
  }
  return {};
}

// The site of `host`: the first certificate of each kind of key that is good for it.
std::string TlsServer::add_site(const std::string& host, std::size_t first) {
  std::vector<std::size_t> chosen{first};
  for (std::size_t i = 0; i < identities_.size(); ++i) {
    const bool known_kind = std::any_of(chosen.begin(), chosen.end(), [&](std::size_t other) {
      return identities_[other].key_type() == identities_[i].key_type();
    });
    if (!known_kind && identities_[i].covers(host)) chosen.push_back(i);
  }
  std::sort(chosen.begin(), chosen.end());
  const auto same = std::find_if(sites_.begin(), sites_.end(), [&](const Site& s) { return s.identities == chosen; });
  if (!host.empty()) names_[host] = static_cast<std::size_t>(same - sites_.begin());
  if (same != sites_.end()) return {};
  sites_.push_back({std::move(chosen), nullptr});
  return make_context(sites_.back());
}

std::string TlsServer::make_context(Site& site) const {
  site.context.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* context = site.context.get();
  if (context == nullptr) return "TLS: " + tls_error();
  auto* self = const_cast<TlsServer*>(this);  // OpenSSL knows no const
  SSL_CTX_set_app_data(context, self);
  SSL_CTX_set_min_proto_version(context,
                                config_.min_version == config::TlsVersion::tls12 ? TLS1_2_VERSION : TLS1_3_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context,
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);  // a record in one call rather than its head and then its rest
  if (SSL_CTX_set_cipher_list(context, config_.ciphers.empty() ? kCiphers : config_.ciphers.c_str()) != 1) {
    return "`ciphers`: OpenSSL knows none of them: " + tls_error();
  }
  SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384");
  for (const std::size_t index : site.identities) {
    const TlsIdentity& identity = identities_[index];
    if (SSL_CTX_use_certificate(context, identity.cert.get()) != 1) return "a certificate: " + tls_error();
    for (const auto& link : identity.chain) SSL_CTX_add1_chain_cert(context, link.get());
    if (SSL_CTX_use_PrivateKey(context, identity.key.get()) != 1) return "a key: " + tls_error();
  }
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_timeout(context, static_cast<long>(config_.session_timeout.count() / 1000));
  SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>(session_context_.data()),
                                 static_cast<unsigned>(session_context_.size()));
  if (config_.tickets) {
    SSL_CTX_set_tlsext_ticket_key_evp_cb(context, &TlsServer::on_ticket);
  } else {
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
  }
  SSL_CTX_set_tlsext_servername_callback(context, &TlsServer::on_server_name);
  SSL_CTX_set_tlsext_servername_arg(context, self);
  SSL_CTX_set_alpn_select_cb(context, &TlsServer::on_alpn, self);
  SSL_CTX_set_tlsext_status_cb(context, &TlsServer::on_status);
  SSL_CTX_set_tlsext_status_arg(context, self);
  return ask_clients(context);
}

std::string TlsServer::ask_clients(SSL_CTX* context) const {
  if (config_.client_auth == config::ListenerTls::ClientAuth::off) return {};
  STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(config_.client_ca.c_str());
  if (names == nullptr || SSL_CTX_load_verify_file(context, config_.client_ca.c_str()) != 1) {
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    return "`client_ca`: cannot read certificates from `" + config_.client_ca + "`: " + tls_error();
  }
  SSL_CTX_set_client_CA_list(context, names);
  const bool required = config_.client_auth == config::ListenerTls::ClientAuth::required;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
  return {};
}

SslPtr TlsServer::new_connection() const noexcept {
  return SslPtr(SSL_new(sites_.front().context.get()));
}

std::size_t TlsServer::find(std::string_view host) const noexcept {
  auto found = names_.find(host);
  if (found != names_.end()) return found->second;
  const auto dot = host.find('.');
  if (dot == std::string_view::npos || dot == 0 || host.size() > 255) return 0;
  char wild[256] = "*";
  host.substr(dot).copy(wild + 1, sizeof wild - 1);
  found = names_.find(std::string_view(wild, 1 + host.size() - dot));
  return found != names_.end() ? found->second : 0;
}

bool TlsServer::covers(std::size_t site, std::string_view host) const noexcept {
  const std::string name = config::lower(without_last_dot(host));
  const auto& shown = sites_[site].identities;
  return find(name) == site ||
         std::any_of(shown.begin(), shown.end(), [&](std::size_t i) { return identities_[i].covers(name); });
}

bool TlsServer::shows(std::size_t identity) const noexcept {
  return std::any_of(sites_.begin(), sites_.end(), [&](const Site& site) {
    return std::find(site.identities.begin(), site.identities.end(), identity) != site.identities.end();
  });
}

int TlsServer::on_server_name(SSL* ssl, int*, void* argument) {
  const auto* self = static_cast<const TlsServer*>(argument);
  const char* host = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (host == nullptr) return SSL_TLSEXT_ERR_NOACK;
  const auto& site = self->sites_[self->find(config::lower(without_last_dot(host)))];
  SSL_set_SSL_CTX(ssl, site.context.get());
  return SSL_TLSEXT_ERR_OK;
}

// A client that speaks none of ours goes on without ALPN, as if it had not asked, unless it insists on its own.
int TlsServer::on_alpn(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                       unsigned offered_size, void* argument) {
  const auto* self = static_cast<const TlsServer*>(argument);
  unsigned char* out = nullptr;
  const int agreed = SSL_select_next_proto(&out, size, reinterpret_cast<const unsigned char*>(self->alpn_.data()),
                                           static_cast<unsigned>(self->alpn_.size()), offered, offered_size);
  *chosen = out;
  // RFC 7301 3.2: no protocol in common ends the handshake.
  return agreed == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

int TlsServer::on_status(SSL* ssl, void* argument) {
  const auto* self = static_cast<const TlsServer*>(argument);
  const X509* shown = SSL_get_certificate(ssl);
  for (const auto& identity : self->identities_) {
    if (identity.cert.get() != shown || identity.ocsp.empty() || std::time(nullptr) >= identity.ocsp_until) continue;
    auto* copy = static_cast<unsigned char*>(OPENSSL_memdup(identity.ocsp.data(), identity.ocsp.size()));
    if (copy == nullptr) break;
    SSL_set_tlsext_status_ocsp_resp(ssl, copy, static_cast<long>(identity.ocsp.size()));  // takes it
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

int TlsServer::on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
                         int seal) {
  auto* self = static_cast<TlsServer*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  const int done = self->keys_->seal_or_open(name, iv, cipher, mac, seal == 1);
  // TLS 1.3's tickets are for one use (RFC 8446 C.4): whoever resumes gets another.
  const bool renew = done == 1 && seal == 0 && SSL_version(ssl) == TLS1_3_VERSION;
  return renew ? 2 : done;
}

std::shared_ptr<const TlsFacts> TlsServer::facts(SSL* ssl) const {
  auto facts = std::make_shared<TlsFacts>();
  facts->server = shared_from_this();
  const SSL_CTX* context = SSL_get_SSL_CTX(ssl);
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    if (sites_[i].context.get() == context) facts->site = i;
  }
  if (const char* host = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name)) {
    facts->server_name = config::lower(without_last_dot(host));
  }
  facts->version = SSL_get_version(ssl);
  const SSL_CIPHER* cipher = SSL_get_current_cipher(ssl);
  facts->cipher = SSL_CIPHER_get_name(cipher);
  facts->key_bits = static_cast<std::uint16_t>(SSL_CIPHER_get_bits(cipher, nullptr));
  unsigned size = 0;
  const unsigned char* id = SSL_SESSION_get_id(SSL_get_session(ssl), &size);
  facts->session_id = hex({reinterpret_cast<const char*>(id), size});
  facts->hsts = hsts_;
  const X509Ptr cert(SSL_get1_peer_certificate(ssl));
  if (cert) {
    facts->client_cert = pem(cert.get());
    facts->client_name = common_name(cert.get());
    using Forward = config::ListenerTls::ForwardCert;
    facts->xfcc = config_.forward_cert == Forward::xfcc;
    if (config_.forward_cert == Forward::client_cert) facts->client_cert_field = client_cert_field(cert.get());
    if (facts->xfcc) facts->client_cert_field = xfcc_field(cert.get(), facts->client_cert);
  }
  return facts;
}

}  // namespace pontage::net
