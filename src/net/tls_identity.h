// A certificate with its chain, private key and OCSP response, loaded from files and checked. Immutable once loaded.
// Control thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/wire/expected.h"
#include "src/config/config.h"
#include "src/net/tls_handle.h"

namespace pontage::net {

struct TlsIdentity {
  X509Ptr cert;
  std::vector<X509Ptr> chain;
  KeyPtr key;
  std::string ocsp;                // DER
  std::int64_t ocsp_until = 0;     // unix seconds: stale from then on, and not sent
  std::vector<std::string> names;  // DNS names, lower case; "*.example.org" for a whole level
  std::int64_t not_before = 0;     // unix seconds
  std::int64_t not_after = 0;

  // Whether the certificate is one for `host` (lower case). A wildcard stands for one label.
  bool covers(std::string_view host) const noexcept;
  int key_type() const noexcept { return EVP_PKEY_get_base_id(key.get()); }
};

// The pair, or one sentence about what is wrong with it: unreadable, malformed, or a key of another certificate.
wire::Expected<TlsIdentity, std::string> load_identity(const config::TlsPair& pair);

}  // namespace pontage::net
