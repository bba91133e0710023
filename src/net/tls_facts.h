// What a TLS handshake settled, for as long as the connection lasts: for forwarding, variables, logs. Made once after
// the handshake, immutable. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace pontage::net {

class TlsServer;

struct TlsFacts {
  std::shared_ptr<const TlsServer> server;  // whose certificates were shown; never null
  std::size_t site = 0;                     // which of them, see TlsServer::covers
  std::string server_name{};                // SNI, lower case; empty when the client named nobody
  std::string_view version{};               // "TLSv1.3"; static
  std::string_view cipher{};                // OpenSSL's name; static
  std::uint16_t key_bits = 0;
  std::string session_id{};         // hexadecimal; may be empty
  std::string client_cert{};        // PEM, empty without one
  std::string client_name{};        // the common name in it; may be empty
  std::string client_cert_field{};  // what servers are told in a field, ready to send; empty: nothing
  std::string_view hsts{};          // Strict-Transport-Security, from `server`; empty: nothing is said
  bool xfcc = false;                // the field is X-Forwarded-Client-Cert rather than Client-Cert (RFC 9440)
};

}  // namespace pontage::net
