#include "src/net/tls_client.h"

#include "src/net/address.h"
#include "src/net/tls_identity.h"
#include "src/net/tls_stream.h"

namespace pontage::net {

wire::Expected<std::shared_ptr<TlsClient>, std::string> TlsClient::make(const config::BackendTls& config,
                                                                        const std::string& host, std::size_t workers) {
  std::shared_ptr<TlsClient> made(new TlsClient);
  made->verify_ = config.verify;
  made->sessions_.resize(workers);
  made->expect(config, host);
  if (auto error = made->prepare(config); !error.empty()) return wire::Unexpected<std::string>(std::move(error));
  return made;
}

std::shared_ptr<TlsClient> TlsClient::for_host(const config::BackendTls& config, const std::string& host) const {
  std::shared_ptr<TlsClient> other(new TlsClient);
  other->context_ = context_;
  other->verify_ = verify_;
  other->sessions_.resize(sessions_.size());
  other->expect(config, host);
  return other;
}

TlsClient::~TlsClient() = default;

void TlsClient::expect(const config::BackendTls& config, const std::string& host) {
  config_ = config;
  name_ = config.server_name.empty() ? host : config.server_name;
  is_ip_ = Address::from_ip(name_, 0).has_value();
}

std::string TlsClient::prepare(const config::BackendTls& config) {
  context_ = SslContextPtr(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* context = context_.get();
  if (context == nullptr) return "TLS: " + tls_error();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context,
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(context, &TlsClient::on_session);
  static constexpr unsigned char kHttp11[] = "\x08http/1.1";
  SSL_CTX_set_alpn_protos(context, kHttp11, sizeof kHttp11 - 1);
  if (verify_) {
    const bool loaded = config.ca.empty() ? SSL_CTX_set_default_verify_paths(context) == 1
                                          : SSL_CTX_load_verify_file(context, config.ca.c_str()) == 1;
    if (!loaded) return "`ca`: cannot read certificates from `" + config.ca + "`: " + tls_error();
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  }
  if (config.cert.empty()) return {};
  auto identity = load_identity({.cert = config.cert, .key = config.key});
  if (!identity) return identity.error();
  if (SSL_CTX_use_certificate(context, identity->cert.get()) != 1) return "the certificate: " + tls_error();
  for (const auto& link : identity->chain) SSL_CTX_add1_chain_cert(context, link.get());
  if (SSL_CTX_use_PrivateKey(context, identity->key.get()) != 1) return "the key: " + tls_error();
  return {};
}

bool TlsClient::has_terms_of(const TlsClient& other) const noexcept {
  const config::BackendTls& a = config_;
  const config::BackendTls& b = other.config_;
  return this == &other ||
         (name_ == other.name_ && a.verify == b.verify && a.ca == b.ca && a.cert == b.cert && a.key == b.key);
}

SslPtr TlsClient::new_connection(unsigned worker) noexcept {
  if (verify_ && name_.empty()) return nullptr;  // OpenSSL would expect no name at all
  SslPtr ssl(SSL_new(context_.get()));
  if (!ssl) return ssl;
  X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl.get());
  const bool named =
      is_ip_ ? X509_VERIFY_PARAM_set1_ip_asc(wanted, name_.c_str()) == 1 : SSL_set1_host(ssl.get(), name_.c_str()) == 1;
  if (!named) return nullptr;
  if (!is_ip_ && !name_.empty()) SSL_set_tlsext_host_name(ssl.get(), name_.c_str());
  const SslSessionPtr session = take_session(worker);
  if (session) SSL_set_session(ssl.get(), session.get());
  return ssl;
}

// Those of TLS 1.3 are for one use; a server gives a new one each time, or several at first.
SslSessionPtr TlsClient::take_session(unsigned worker) noexcept {
  if (worker >= sessions_.size()) return nullptr;
  auto& kept = sessions_[worker];
  while (!kept.empty()) {
    SSL_SESSION* newest = kept.back().get();
    if (SSL_SESSION_is_resumable(newest) == 1 && SSL_SESSION_get_protocol_version(newest) < TLS1_3_VERSION) {
      SSL_SESSION_up_ref(newest);
      return SslSessionPtr(newest);
    }
    SslSessionPtr taken = std::move(kept.back());
    kept.pop_back();
    if (SSL_SESSION_is_resumable(taken.get()) == 1) return taken;
  }
  return nullptr;
}

// On the thread of the worker that the connection belongs to now. 1: the session is kept.
int TlsClient::on_session(SSL* ssl, SSL_SESSION* session) {
  const auto* stream = static_cast<const TlsStream*>(SSL_get_app_data(ssl));
  if (stream == nullptr || stream->client() == nullptr) return 0;
  const unsigned worker = stream->reactor().id();
  auto& sessions = stream->client()->sessions_;
  if (worker >= sessions.size()) return 0;
  auto& kept = sessions[worker];
  if (kept.size() == kKept) kept.erase(kept.begin());
  kept.emplace_back(session);
  return 1;
}

}  // namespace pontage::net
