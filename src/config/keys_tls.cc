// The keys of TLS: what a listener shows and asks of clients, and whom the gateway believes as a client itself.
#include "src/config/files.h"
#include "src/config/table.h"

namespace pontage::config {
namespace {

std::string begin_tls(Target& target, const Value& value) {
  target.listener->tls.place = value.place;
  return {};
}

std::string begin_pair(Target& target, const Value& value) {
  target.pair = &target.listener->tls.certificates.emplace_back();
  target.pair->place = value.place;
  return {};
}

std::string store_file(const Target& target, const Value& value, std::string& file) {
  if (value.text.empty()) return "expected a file's path";
  file = resolve_path(target.config->file, value.text);
  return {};
}

// A file may hold both; a `key` of its own comes before or after.
std::string store_cert(Target& target, const Value& value) {
  TlsPair& pair = *target.pair;
  const bool own_key = !pair.key.empty();
  auto error = store_file(target, value, pair.cert);
  if (!own_key) pair.key = pair.cert;
  return error;
}

std::string store_key(Target& target, const Value& value) {
  return store_file(target, value, target.pair->key);
}

std::string store_ocsp(Target& target, const Value& value) {
  return store_file(target, value, target.pair->ocsp);
}

std::string store_client_ca(Target& target, const Value& value) {
  return store_file(target, value, target.listener->tls.client_ca);
}

std::string store_client_auth(Target& target, const Value& value) {
  target.listener->tls.client_auth = static_cast<ListenerTls::ClientAuth>(value.number);
  return {};
}

std::string store_forward_cert(Target& target, const Value& value) {
  target.listener->tls.forward_cert = static_cast<ListenerTls::ForwardCert>(value.number);
  return {};
}

std::string store_min_version(Target& target, const Value& value) {
  target.listener->tls.min_version = static_cast<TlsVersion>(value.number);
  return {};
}

std::string store_ticket_keys(Target& target, const Value& value) {
  for (const auto& text : value.texts) {
    if (text.empty()) return "expected a file's path";
    target.listener->tls.ticket_key_files.push_back(resolve_path(target.config->file, text));
  }
  return {};
}

std::string begin_backend_tls(Target& target, const Value& value) {
  target.backend->tls.place = value.place;
  return {};
}

std::string store_ca(Target& target, const Value& value) {
  return store_file(target, value, target.backend->tls.ca);
}

// A file may hold both, as above.
std::string store_own_cert(Target& target, const Value& value) {
  BackendTls& tls = target.backend->tls;
  const bool own_key = !tls.key.empty();
  auto error = store_file(target, value, tls.cert);
  if (!own_key) tls.key = tls.cert;
  return error;
}

std::string store_own_key(Target& target, const Value& value) {
  return store_file(target, value, target.backend->tls.key);
}

std::string store_expected_name(Target& target, const Value& value) {
  target.backend->tls.server_name = value.text;
  return value.text.empty() ? "expected a host's name or address" : "";
}

std::string store_redirect(Target& target, const Value& value) {
  target.listener->redirect_port = static_cast<std::uint16_t>(value.number);
  return {};
}

using M = Millis&;

void append_certificate_keys(std::vector<Key>& keys) {
  keys.insert(
      keys.end(),
      {{"listeners[].tls",
        Type::group,
        "",
        "TLS, with these certificates; without it the listener speaks in the clear.",
        &begin_tls,
        {},
        {},
        "certificates"},
       {"listeners[].tls.certificates",
        Type::records,
        "",
        "Pairs of certificate and key; the first is for names that no other has. Each name may have one of each "
        "kind of key (ECDSA, RSA).",
        &begin_pair,
        {},
        {},
        "cert",
        Presence::required},
       {"listeners[].tls.certificates[].cert",
        Type::text,
        "",
        "PEM: the certificate, then its chain.",
        &store_cert,
        {},
        {},
        {},
        Presence::required},
       {"listeners[].tls.certificates[].key", Type::text, "",
        "PEM: the private key, without a passphrase; in the certificate's file unless given.", &store_key},
       {"listeners[].tls.certificates[].ocsp", Type::text, "",
        "DER: an OCSP response that is sent along (stapled) while it is fresh.", &store_ocsp}});
}

void append_policy_keys(std::vector<Key>& keys) {
  keys.insert(
      keys.end(),
      {{"listeners[].tls.client_ca", Type::text, "", "PEM: who may have signed clients' certificates.",
        &store_client_ca},
       {"listeners[].tls.client_auth",
        Type::choice,
        "off",
        "Whether clients are asked for a certificate, and whether they must have one.",
        &store_client_auth,
        {},
        {"off", "optional", "required"}},
       {"listeners[].tls.forward_cert",
        Type::choice,
        "off",
        "The field that tells servers a client's certificate: Client-Cert (RFC 9440), or X-Forwarded-Client-Cert.",
        &store_forward_cert,
        {},
        {"off", "client_cert", "xfcc"}},
       {"listeners[].tls.min_version",
        Type::choice,
        "1.2",
        "The oldest version of TLS that is spoken.",
        &store_min_version,
        {},
        {"1.2", "1.3"}},
       {"listeners[].tls.ciphers", Type::text, "",
        "The ciphers of TLS 1.2, in OpenSSL's words; Mozilla's intermediate ones with elliptic curves unless given.",
        +[](Target& t) -> std::string& { return t.listener->tls.ciphers; }},
       {"listeners[].tls.tickets", Type::boolean, "true", "Whether clients may resume their sessions.",
        +[](Target& t) -> bool& { return t.listener->tls.tickets; }},
       {"listeners[].tls.ticket_keys", Type::texts, "[]",
        "Files of 80 random bytes that seal tickets, for several gateways: the first seals, all open. Unless given, "
        "the keys are the process's own and change by themselves.",
        &store_ticket_keys},
       {"listeners[].tls.session_timeout",
        Type::duration,
        "1d",
        "How long a session may be resumed.",
        +[](Target& t) -> M { return t.listener->tls.session_timeout; },
        {1000, 7 * kDay}},
       {"listeners[].tls.handshake",
        Type::duration,
        "10s",
        "For a whole handshake.",
        +[](Target& t) -> M { return t.listener->tls.handshake; },
        {1, kDay}},
       {"listeners[].tls.hsts",
        Type::duration,
        "0s",
        "Strict-Transport-Security: for how long browsers shall come with TLS only; 0 says nothing.",
        +[](Target& t) -> M { return t.listener->tls.hsts; },
        {0, 10 * 366 * kDay}},
       {"listeners[].redirect_to_https",
        Type::integer,
        "0",
        "Sends every request to https at this port of the same host (308), but those for "
        "`/.well-known/acme-challenge/`; "
        "0 does not.",
        &store_redirect,
        {0, 65535}}});
}

}  // namespace

void append_listener_tls_keys(std::vector<Key>& keys) {
  append_certificate_keys(keys);
  append_policy_keys(keys);
}

void append_backend_tls_keys(std::vector<Key>& keys) {
  keys.insert(
      keys.end(),
      {{"backends{}.tls", Type::group, "", "TLS towards `https://` servers.", &begin_backend_tls},
       {"backends{}.tls.ca", Type::text, "",
        "PEM: who may have signed servers' certificates; the system's list unless given.", &store_ca},
       {"backends{}.tls.verify", Type::boolean, "true", "Whether a server has to prove its name.",
        +[](Target& t) -> bool& { return t.backend->tls.verify; }},
       {"backends{}.tls.server_name", Type::text, "",
        "The name to ask for (SNI) and to expect in certificates; the URL's host unless given.", &store_expected_name},
       {"backends{}.tls.cert", Type::text, "", "PEM: the gateway's own certificate, then its chain.", &store_own_cert},
       {"backends{}.tls.key", Type::text, "", "PEM: its private key; in the certificate's file unless given.",
        &store_own_key}});
}

}  // namespace pontage::config
