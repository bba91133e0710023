#include "src/net/tls_certificate_text.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "protocols/wire/ascii.h"

namespace pontage::net {
namespace {

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size > 0 ? size : 0)};
}

// %-encodes what may not stand in a quoted element; the names in a certificate are the client's.
std::string encoded(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (wire::is_alpha(c) || wire::is_digit(c) || std::string_view("-._~/:@=+*").find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

// Quoted text: printable ASCII; a quote and a backslash are escaped.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c >= 0x20 && c < 0x7f ? c : '?';
  }
  return out + '"';
}

std::string subject(X509* cert) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), X509_get_subject_name(cert), 0, XN_FLAG_RFC2253);  // escapes what is no ASCII
  return text_of(bio.get());
}

}  // namespace

std::string hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string pem(X509* cert) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), cert);
  return text_of(bio.get());
}

std::string common_name(X509* cert) {
  const X509_NAME* names = X509_get_subject_name(cert);
  int last = -1;
  for (int at = -1; (at = X509_NAME_get_index_by_NID(names, NID_commonName, at)) >= 0;) last = at;
  if (last < 0) return {};
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(names, last)));
  if (size < 0) return {};
  std::string name(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  OPENSSL_free(text);
  return name;
}

std::string client_cert_field(X509* cert) {
  unsigned char* der = nullptr;
  const int size = i2d_X509(cert, &der);
  if (size <= 0) return {};
  std::string out(static_cast<std::size_t>(size + 2) / 3 * 4 + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), der, size);
  OPENSSL_free(der);
  out.resize(static_cast<std::size_t>(length));
  return ":" + out + ":";
}

std::string xfcc_field(X509* cert, std::string_view pem) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  X509_digest(cert, EVP_sha256(), digest, &size);
  std::string out = "Hash=" + hex({reinterpret_cast<char*>(digest), size}) + ";Subject=" + quoted(subject(cert));
  auto* names = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(cert, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type != GEN_URI && name->type != GEN_DNS) continue;
    const ASN1_STRING* text = name->d.ia5;
    out += name->type == GEN_URI ? ";URI=" : ";DNS=";
    out += encoded({reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                    static_cast<std::size_t>(ASN1_STRING_length(text))});
  }
  GENERAL_NAMES_free(names);
  return out + ";Cert=\"" + encoded(pem) + "\"";
}

}  // namespace pontage::net
