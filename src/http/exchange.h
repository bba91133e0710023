// One request/response pair on a session: the request, the memory both live in, whose time it spends, and what the log
// and the metrics will say about it. Owned by the session, reused for its next exchange; worker's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "protocols/cgi/variables.h"
#include "protocols/message/arena.h"
#include "protocols/message/head.h"
#include "protocols/message/target.h"
#include "src/http/body_source.h"
#include "src/http/request_pump.h"
#include "src/net/address.h"
#include "src/net/fiber.h"
#include "src/net/reactor.h"
#include "src/net/tls_facts.h"
#include "src/observe/ledger.h"
#include "src/observe/metrics.h"

namespace pontage::http {

// What a trusted proxy said of its client in a PROXY header, addresses apart. Not text to be shown: any bytes.
struct ProxyFacts {
  bool tls = false;             // the client speaks TLS to the proxy
  std::uint8_t tls_client = 0;  // the bits of proxy_protocol::Tls
  std::uint32_t tls_verify = 1;
  std::string tls_version{};
  std::string tls_cipher{};
  std::string common_name{};  // of its certificate
  std::string authority{};    // the host it named
  std::string unique_id{};    // of its connection to the proxy, which may carry many requests
};

// What is true of the client's connection for as long as it lasts. Behind a trusted proxy the addresses are those that
// its PROXY header told.
struct ConnectionInfo {
  net::Address peer;    // without a family when the gateway itself asks (src/probe)
  std::string peer_ip;  // text of peer, made once
  std::string local_ip;
  std::uint16_t local_port = 0;
  std::uint16_t listener = 0;  // interned metric id
  std::string_view protocol = "http/1.1";
  std::shared_ptr<const net::TlsFacts> tls{};  // nullptr: in the clear
  std::uint16_t https_port = 0;                // requests are sent there (listeners[].redirect_to_https); 0: served
  std::shared_ptr<const ProxyFacts> told{};    // nullptr: nothing was
};

// Who the client is after trusted proxies were believed (src/http/forwarding.h fills it).
struct ClientIdentity {
  std::string_view ip;             // text without port
  std::string_view scheme;         // "http" or "https"
  std::string_view host;           // host[:port] the client asked for
  std::uint16_t port = 0;          // the port the client sees
  std::string_view forwarded_for;  // the trusted part of X-Forwarded-For, to be continued; may be empty
};

// Passes an interim (1xx) response on to the client at once. Implemented by sessions; HTTP/1.0 clients get none.
class InterimSink {
 public:
  virtual net::Task<util::Result<void>> send_interim(const message::ResponseHead& head) = 0;

 protected:
  ~InterimSink() = default;
};

// What became of the exchange: for the access log and the metrics. Texts are static, from the config, or in the arena.
struct Outcome {
  int status = 0;               // as sent; 499 when the client left before a head was sent
  std::uint64_t bytes_in = 0;   // request body, payload bytes
  std::uint64_t bytes_out = 0;  // everything sent, head included
  std::string_view route;
  std::string_view backend;
  std::string_view server;
  std::string_view adapter = "none";
  std::string_view cache;       // "hit", "miss", ... or empty
  std::string_view end = "--";  // two letters, see DESIGN "access log"
  std::string_view error;       // why it failed; static text
  util::Error failure;          // meaningful when failed
  bool failed = false;
  std::uint16_t attempts = 0;
};

class Spool;

struct Exchange {
  explicit Exchange(net::Reactor& reactor) noexcept;
  ~Exchange();

  net::Reactor& reactor() const noexcept { return fiber->reactor(); }
  // Ready for the next request on this session; keeps the arena's first block.
  void reset() noexcept;

  net::Fiber* fiber = nullptr;  // the way itself: the session's
  message::Arena arena;
  message::RequestHead request;  // immutable once routed; only a spool makes its body's length known
  message::CanonicalPath path;
  std::string_view forward_path;  // the path after the route's rewrite: what handlers and adapters use
  bool bare_prefix = false;       // the path is "/x" and the route "/x/*": files redirect to "/x/"
  message::HeaderList
      forward_headers;  // what a server gets, Host and framing apart (forwarding.h); empty before proxying
  const cgi::VariableList* variables = nullptr;  // the request as CGI-speaking servers get it; nullptr for others
  BodySource* body = nullptr;                    // the request body; nullptr when there is none. Owned by the session
  std::unique_ptr<Spool> spool;                  // keeps a request body that was taken in before a server was
  const ConnectionInfo* connection = nullptr;
  ClientIdentity client;
  std::string_view request_id;  // in the arena; empty until forwarding made one
  std::string_view trace_id;
  RequestPump pump;
  InterimSink* interim = nullptr;
  bool gather = true;  // small pieces of the answer may wait a moment for what follows
  observe::Ledger ledger;
  observe::WorkerMetrics* metrics = nullptr;
  std::int64_t unix_seconds = 0;  // when it began
  Outcome outcome;
};

}  // namespace pontage::http
