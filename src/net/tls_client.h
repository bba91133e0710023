// TlsClient: the TLS side of one application server: whom to believe, whom to expect, who we are; and the last sessions
// with it on each worker, to be resumed. Made on the control thread, shared by the workers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "protocols/wire/expected.h"
#include "src/config/config.h"
#include "src/net/tls_handle.h"

namespace pontage::net {

class TlsClient {
 public:
  // For the server of the name `host` (the URL's), unless the configuration has another name. The error is one
  // sentence.
  static wire::Expected<std::shared_ptr<TlsClient>, std::string> make(const config::BackendTls& config,
                                                                      const std::string& host, std::size_t workers);
  // The same for another server of the backend; what was read from files is shared.
  std::shared_ptr<TlsClient> for_host(const config::BackendTls& config, const std::string& host) const;
  ~TlsClient();

  // Whether a connection made for the one is as good as one made for the other: the same is believed, expected and
  // shown.
  bool has_terms_of(const TlsClient& other) const noexcept;

  // On worker `worker`'s thread; nullptr without memory.
  SslPtr new_connection(unsigned worker) noexcept;

 private:
  TlsClient() = default;
  SslSessionPtr take_session(unsigned worker) noexcept;
  std::string prepare(const config::BackendTls& config);
  void expect(const config::BackendTls& config, const std::string& host);
  static int on_session(SSL* ssl, SSL_SESSION* session);

  config::BackendTls config_;
  std::shared_ptr<SSL_CTX> context_;
  std::string name_;  // whom the certificate must name
  bool is_ip_ = false;
  bool verify_ = true;
  static constexpr std::size_t kKept = 4;
  std::vector<std::vector<SslSessionPtr>> sessions_;  // by worker, each its thread's alone; the newest last
};

}  // namespace pontage::net
