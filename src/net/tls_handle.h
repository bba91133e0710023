// Owning pointers to OpenSSL's objects, and its error texts. Any thread.
#pragma once

#include <memory>
#include <string>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace pontage::net {

template <auto Free>
struct TlsFree {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};

using SslPtr = std::unique_ptr<SSL, TlsFree<&SSL_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, TlsFree<&SSL_CTX_free>>;
using SslSessionPtr = std::unique_ptr<SSL_SESSION, TlsFree<&SSL_SESSION_free>>;
using X509Ptr = std::unique_ptr<X509, TlsFree<&X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, TlsFree<&EVP_PKEY_free>>;
using BioPtr = std::unique_ptr<BIO, TlsFree<&BIO_free_all>>;

// Why the last call failed, in OpenSSL's words; empties its queue of errors.
inline std::string tls_error() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = ERR_reason_error_string(code);
  ERR_clear_error();
  return reason != nullptr ? reason : "unknown reason";
}

}  // namespace pontage::net
