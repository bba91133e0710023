// The keys of TLS: short forms, paths relative to the file, and what contradicts itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/load_helper.h"

namespace pontage::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string with_tls(const std::string& tls) {
  return "listeners:\n  - bind: \":443\"\n    tls: " + tls + "\nroutes: [{ respond: hello }]\n";
}

Loaded load_tls(const std::string& tls) {
  return load_text("/etc/pontage/t.yaml", with_tls(tls));
}

TEST(TlsKeys, OneFileMayHoldCertificateAndKey) {
  for (const char* form : {"site.pem", "[site.pem]", "{ certificates: [{ cert: site.pem }] }"}) {
    const auto loaded = load_tls(form);
    ASSERT_THAT(problems_of(loaded), IsEmpty()) << form;
    const auto& pairs = loaded.config.listeners[0].tls.certificates;
    ASSERT_EQ(pairs.size(), 1U) << form;
    EXPECT_EQ(pairs[0].cert, "/etc/pontage/site.pem");
    EXPECT_EQ(pairs[0].key, "/etc/pontage/site.pem");
  }
}

TEST(TlsKeys, KeyMayComeBeforeOrAfterItsCertificate) {
  const auto loaded = load_tls("[{ key: a.key, cert: a.pem }, { cert: b.pem, key: b.key, ocsp: /x/b.der }]");
  ASSERT_THAT(problems_of(loaded), IsEmpty());
  const auto& pairs = loaded.config.listeners[0].tls.certificates;
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].key, "/etc/pontage/a.key");
  EXPECT_EQ(pairs[1].cert, "/etc/pontage/b.pem");
  EXPECT_EQ(pairs[1].key, "/etc/pontage/b.key");
  EXPECT_EQ(pairs[1].ocsp, "/x/b.der");
  EXPECT_EQ(pairs[1].place.line, 3);
}

TEST(TlsKeys, EveryKeyTakesEffect) {
  const auto loaded = load_tls(
      "{ certificates: s.pem, client_ca: ca.pem, client_auth: required, forward_cert: xfcc, min_version: 1.3, "
      "tickets: true, ticket_keys: [a, b], session_timeout: 1h, handshake: 3s }");
  ASSERT_THAT(problems_of(loaded), IsEmpty());
  const auto& tls = loaded.config.listeners[0].tls;
  EXPECT_TRUE(tls.enabled());
  EXPECT_EQ(tls.client_ca, "/etc/pontage/ca.pem");
  EXPECT_EQ(tls.client_auth, ListenerTls::ClientAuth::required);
  EXPECT_EQ(tls.forward_cert, ListenerTls::ForwardCert::xfcc);
  EXPECT_EQ(tls.min_version, TlsVersion::tls13);
  EXPECT_THAT(tls.ticket_key_files, ElementsAre("/etc/pontage/a", "/etc/pontage/b"));
  EXPECT_EQ(tls.session_timeout, Millis(3'600'000));
  EXPECT_EQ(tls.handshake, Millis(3000));
}

TEST(TlsKeys, NeverEndInAClearListener) {
  EXPECT_THAT(problems_of(with_tls("[]")), ElementsAre("3:5 error at least one certificate is needed"));
  EXPECT_THAT(problems_of(with_tls("{ handshake: 1s }")),
              ElementsAre("3:5 error `certificates` is missing in `listeners.tls`"));
}

TEST(TlsKeys, AskingClientsNeedsAnAuthority) {
  EXPECT_THAT(problems_of(with_tls("{ certificates: s.pem, client_auth: optional }")),
              ElementsAre("3:46 error `client_auth` needs a `client_ca`: who may have signed the certificates"));
}

TEST(TlsKeys, WithoutEffectAreToldOf) {
  EXPECT_THAT(problems_of(with_tls("{ certificates: s.pem, client_ca: ca.pem, forward_cert: client_cert }")),
              ElementsAre("3:44 warning `client_ca` has no effect: no client is asked for a certificate "
                          "(`client_auth`)",
                          "3:66 warning `forward_cert` has no effect: no client is asked for a certificate "
                          "(`client_auth`)"));
  EXPECT_THAT(problems_of(with_tls("{ certificates: s.pem, min_version: 1.3, ciphers: ALL }")),
              ElementsAre("3:60 warning `ciphers` has no effect: it is about TLS 1.2 alone"));
  EXPECT_THAT(problems_of(with_tls("{ certificates: s.pem, tickets: false, ticket_keys: a }")),
              ElementsAre("3:62 warning `ticket_keys` has no effect without `tickets`"));
}

}  // namespace
}  // namespace pontage::config
