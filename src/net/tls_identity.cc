#include "src/net/tls_identity.h"

#include <algorithm>

#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "src/config/addresses.h"
#include "src/config/files.h"

namespace pontage::net {
namespace {

using Wrong = wire::Unexpected<std::string>;
constexpr std::size_t kLargestFile = 1 << 20;

// A key with a passphrase is refused rather than asked for on the terminal.
int no_passphrase(char*, int, int, void*) {
  return 0;
}

BioPtr memory(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::int64_t unix_time(const ASN1_TIME* time) {
  tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  return timegm(&parts);
}

void add_name(TlsIdentity& identity, const ASN1_STRING* text) {
  const auto* data = reinterpret_cast<const char*>(ASN1_STRING_get0_data(text));
  const std::string_view name(data, static_cast<std::size_t>(ASN1_STRING_length(text)));
  if (!name.empty() && name.find('\0') == std::string_view::npos) identity.names.push_back(config::lower(name));
}

// The alternative names; only a certificate without any is known by its common name.
void read_names(TlsIdentity& identity) {
  auto* names =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(identity.cert.get(), NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type == GEN_DNS) add_name(identity, name->d.dNSName);
  }
  if (names != nullptr) {
    GENERAL_NAMES_free(names);
    return;
  }
  X509_NAME* subject = X509_get_subject_name(identity.cert.get());
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at >= 0) add_name(identity, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

std::string read_ocsp(TlsIdentity& identity, const std::string& path) {
  auto text = config::read_file(path, kLargestFile);
  if (!text) return text.error();
  const auto* at = reinterpret_cast<const unsigned char*>(text->data());
  OCSP_RESPONSE* response = d2i_OCSP_RESPONSE(nullptr, &at, static_cast<long>(text->size()));
  OCSP_BASICRESP* basic = response != nullptr ? OCSP_response_get1_basic(response) : nullptr;
  if (basic != nullptr && OCSP_resp_count(basic) > 0) {
    ASN1_GENERALIZEDTIME* until = nullptr;
    OCSP_single_get0_status(OCSP_resp_get0(basic, 0), nullptr, nullptr, nullptr, &until);
    identity.ocsp_until = until != nullptr ? unix_time(until) : INT64_MAX;
    identity.ocsp = *std::move(text);
  }
  OCSP_BASICRESP_free(basic);
  OCSP_RESPONSE_free(response);
  ERR_clear_error();
  return identity.ocsp.empty() ? "`" + path + "` is no OCSP response in DER" : std::string{};
}

}  // namespace

bool TlsIdentity::covers(std::string_view host) const noexcept {
  const auto dot = host.find('.');
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    if (name == host) return true;
    return name.starts_with("*.") && dot != std::string_view::npos && dot > 0 && host.substr(dot) == name.substr(1);
  });
}

wire::Expected<TlsIdentity, std::string> load_identity(const config::TlsPair& pair) {
  TlsIdentity identity;
  auto text = config::read_file(pair.cert, kLargestFile);
  if (!text) return Wrong(text.error());
  const BioPtr certs = memory(*text);
  ERR_clear_error();
  identity.cert.reset(PEM_read_bio_X509_AUX(certs.get(), nullptr, &no_passphrase, nullptr));
  if (!identity.cert) {
    ERR_clear_error();
    return Wrong("`" + pair.cert + "` holds no certificate in PEM");
  }
  while (X509* next = PEM_read_bio_X509(certs.get(), nullptr, &no_passphrase, nullptr))
    identity.chain.emplace_back(next);
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
    return Wrong("`" + pair.cert + "`: a certificate of the chain is malformed: " + tls_error());
  }
  ERR_clear_error();
  text = config::read_file(pair.key, kLargestFile);
  if (!text) return Wrong(text.error());
  identity.key.reset(PEM_read_bio_PrivateKey(memory(*text).get(), nullptr, &no_passphrase, nullptr));
  OPENSSL_cleanse(text->data(), text->size());
  ERR_clear_error();
  if (!identity.key) return Wrong("`" + pair.key + "` holds no private key in PEM without a passphrase");
  if (X509_check_private_key(identity.cert.get(), identity.key.get()) != 1) {
    ERR_clear_error();
    return Wrong("the key `" + pair.key + "` does not belong to the certificate `" + pair.cert + "`");
  }
  identity.not_before = unix_time(X509_get0_notBefore(identity.cert.get()));
  identity.not_after = unix_time(X509_get0_notAfter(identity.cert.get()));
  read_names(identity);
  if (!pair.ocsp.empty()) {
    if (auto error = read_ocsp(identity, pair.ocsp); !error.empty()) return Wrong(std::move(error));
  }
  return identity;
}

}  // namespace pontage::net
