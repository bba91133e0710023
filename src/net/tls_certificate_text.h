// A client's certificate in the words of the fields that carry it to servers. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "src/net/tls_handle.h"

namespace pontage::net {

std::string hex(std::string_view bytes);
std::string pem(X509* cert);
// The last common name of the subject, in UTF-8; empty without one.
std::string common_name(X509* cert);
// RFC 9440: a byte sequence of structured fields, ":BASE64:".
std::string client_cert_field(X509* cert);
// X-Forwarded-Client-Cert as Envoy made it known: Hash, Subject, URI and DNS names, Cert. `pem` is the certificate's.
std::string xfcc_field(X509* cert, std::string_view pem);

}  // namespace pontage::net
