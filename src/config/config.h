// The configuration as plain values: what the YAML said, with every short form made long, every default filled in and
// every unit converted. No run-time objects; built by load.h, then immutable and shared between threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "protocols/message/content_coding.h"
#include "protocols/wire/limits.h"

namespace pontage::config {

using Millis = std::chrono::milliseconds;

constexpr std::uint64_t ms(Millis duration) noexcept {
  return static_cast<std::uint64_t>(duration.count());
}

// Where a value stood in the file, for messages; 1-based, 0 when it came from a default.
struct Place {
  int line = 0;
  int column = 0;
};

// What the gateway speaks on TLS connections, in order of preference; ALPN offers no more.
inline constexpr std::string_view kAlpnProtocols[] = {"h2", "http/1.1"};

enum class TlsVersion : std::uint8_t { tls12, tls13 };

// A certificate with its key, as files; paths are absolute or relative to the configuration file, resolved already.
struct TlsPair {
  std::string cert{};  // PEM: the certificate, then its chain
  std::string key{};   // PEM
  std::string ocsp{};  // DER: an OCSP response to be stapled; empty: none
  Place place{};
};

struct ListenerTls {
  std::vector<TlsPair> certificates{};  // empty: no TLS; the first is for names that no other has
  std::string client_ca{};              // PEM; who may have signed clients' certificates
  enum class ClientAuth : std::uint8_t { off, optional, required } client_auth = ClientAuth::off;
  enum class ForwardCert : std::uint8_t { off, client_cert, xfcc } forward_cert = ForwardCert::off;
  TlsVersion min_version = TlsVersion::tls12;
  std::string ciphers{};  // of TLS 1.2, in OpenSSL's words; empty: Mozilla's intermediate list
  std::vector<std::string> alpn{std::begin(kAlpnProtocols), std::end(kAlpnProtocols)};
  bool tickets = true;
  std::vector<std::string> ticket_key_files{};  // 80 bytes each; empty: keys of the process's own, changed as they age
  Millis session_timeout{86'400'000};
  Millis handshake{10'000};
  Millis hsts{0};  // how long browsers shall insist on TLS; 0: nothing is said
  Place place{};

  bool enabled() const noexcept { return !certificates.empty(); }
};

// TLS towards servers.
struct BackendTls {
  std::string ca{};  // PEM; empty: the system's
  bool verify = true;
  std::string server_name{};  // empty: the host of the URL
  std::string cert{};         // PEM; the gateway's own
  std::string key{};
  Place place{};
};

// What the bind text of a listener begins with whose sockets the service manager has opened; their name follows.
inline constexpr std::string_view kInherited = "fd:";

struct Listener {
  std::string bind;  // ":8080", "127.0.0.1:0", "[::1]:80", "unix:/run/x.sock", "fd:web"
  std::string name;  // metric label; the bind text unless given
  enum class HalfClose : std::uint8_t { refuse, allow } half_close = HalfClose::refuse;
  ListenerTls tls{};
  std::uint16_t redirect_port = 0;  // every request is sent to https at this port; 0: none is
  bool http2 = true;                // whether clients may speak HTTP/2
  // Who must begin with a PROXY header: addresses or CIDR blocks, and "unix"; empty: nobody.
  std::vector<std::string> proxy_trust{};
  Place place;
};

// URL schemes and metric labels, see to_string.
enum class Adapter : std::uint8_t { http, ajp, fastcgi, scgi, uwsgi, cgi };
std::string_view to_string(Adapter adapter) noexcept;
// The adapters that speak in CGI variables (RFC 3875); their servers need to know a body's length beforehand.
bool speaks_cgi(Adapter adapter) noexcept;

struct ServerUrl {
  Adapter adapter = Adapter::http;
  std::string host;  // name or address; empty for unix
  std::uint16_t port = 0;
  bool tls = false;       // https
  std::string unix_path;  // of SCHEME+unix:/path
  std::string text;       // as written; identity of the server across reloads together with the backend's name
};

struct Server {
  ServerUrl url;
  std::string name;  // jvmRoute and metric label; the URL's host:port when not given
  bool named = false;
  int weight = 1;  // 0..1000; 0 takes only its own sessions
  Place place;
};

struct Sticky {
  std::string cookie;          // empty: off
  std::string path_parameter;  // "jsessionid"
};

// When a request body is taken in before a server is, and an answer before the client gets it.
enum class Buffering : std::uint8_t {
  automatic,  // a request body of unknown length, or slow; of an answer small pieces for a moment
  off,        // never
  on          // always, whole
};

// Whether connections to servers begin with a PROXY header.
enum class SendProxy : std::uint8_t { off, v1, v2 };

struct Variable {
  std::string name;
  std::string value;
};

// How a request becomes CGI variables, for fastcgi, scgi, uwsgi and cgi.
struct CgiMapping {
  std::string document_root{};                  // as the server sees it; empty: an application, not a tree of scripts
  std::string index = "index.php";              // the script of a folder, and of a path that names none
  std::vector<std::string> extensions{".php"};  // what a script's name ends in
  std::string script;                           // the one script of every request; empty: by the path
  std::string script_name;                      // where an application is mounted: "/app"; empty: at the root
  std::vector<Variable> params;                 // further variables
  std::vector<std::string> underscored;         // field names with '_' that are let through, lower case
  bool authorization = true;                    // whether Authorization becomes a variable
};

struct Backend {
  std::string name;
  std::vector<Server> servers;
  Sticky sticky;
  std::string secret;              // AJP; from secret_file or ${ENV}; never printed
  std::size_t packet_size = 8192;  // AJP, 8192..65536
  CgiMapping cgi;
  BackendTls tls{};
  SendProxy send_proxy = SendProxy::off;
  bool keep_alive = false;                     // FastCGI: whether connections are used again
  std::uint64_t max_vars = 65535;              // uwsgi: bytes of a request's variables
  std::optional<Buffering> request_buffering;  // absent: on for servers that speak CGI, automatic for ajp, off for http
  Buffering response_buffering = Buffering::automatic;
  struct Connections {
    int max = 200;  // per server, the whole process
    int idle = 50;
    Millis idle_timeout{30000};
  } connections;
  struct Queue {
    int length = 500;  // requests, per server
    Millis timeout{2000};
  } queue;
  struct Timeouts {
    Millis connect{1000};
    Millis first_byte{30000};
    Millis idle{60000};  // between bytes of a body, either way
    Millis cping{2000};
  } timeouts;
  struct Retry {
    int attempts = 2;  // in all, 1..3
    int budget_percent = 20;
  } retry;
  Place place;
};

struct HeaderEdit {
  enum class Kind : std::uint8_t { set, add, remove } kind = Kind::set;
  std::string name;
  std::string value;
};

struct NameMatch {  // header, query or cookie
  std::string name;
  std::optional<std::string> value;  // exact; absent: present at all
};

struct Match {
  std::vector<std::string> hosts;  // "www.example.org", "*.example.org"; empty: any
  std::vector<std::string> paths;  // exact, "/x/*" prefix, "~regex" RE2; empty: any
  std::vector<std::string> methods;
  std::vector<NameMatch> headers;
  std::vector<NameMatch> queries;
  std::vector<NameMatch> cookies;
};

struct Rewrite {
  std::string strip_prefix;  // empty: none
  std::string add_prefix;
  std::string regex;  // RE2 over the path; with `replacement` (\1 ...)
  std::string replacement;
};

// How long clients and caches may keep a file; the first rule that fits a file counts.
struct CacheRule {
  std::string path;   // below the root: "/x/*", "*.css", or exact; empty: any
  std::string type;   // "image/*", "text/css"; empty: any
  std::string value;  // what Cache-Control says; with the rest below, those follow
  std::optional<Millis> max_age;
  bool immutable = false;
  bool expires = false;  // says Expires, too, for caches of HTTP/1.0
  Place place;
};

struct FilesAction {
  std::string root;
  std::vector<std::string> index{"index.html"};
  enum class Symlinks : std::uint8_t { beneath, follow, none } symlinks = Symlinks::beneath;
  // What is tried in turn: "$path" stands for the path asked for, a slash at the end for a folder's index; "=404" at
  // the end is a status.
  std::vector<std::string> candidates{"$path", "$path/"};
  enum class Cache : std::uint8_t {
    memory,   // heads and small bodies in memory, larger ones by an open descriptor
    file,     // open descriptors only
    uncached  // opened each time
  } cache = Cache::memory;
  bool listing = false;
  std::map<int, std::string> error_files;             // status to a path below the root
  std::vector<message::ContentCoding> precompressed;  // .br, .zst, .gz beside the file, in order of preference
  std::vector<CacheRule> cache_rules;
  std::map<std::string, std::string> types;  // lower-case extension to media type, before the built-in table
  std::string charset = "utf-8";             // of text types; empty: none is said
  int max_ranges = 16;
};

// Compression while sending.
struct Compression {
  std::vector<message::ContentCoding> codings;  // in order of preference; empty: off
  std::uint64_t min_size = 1024;                // bytes; a body of unknown length counts as large
  int gzip_level = 5;                           // 1..9
  int brotli_quality = 4;                       // 0..11
  int zstd_level = 3;                           // 1..19
  // "text/*" or whole media types, lower case, without parameters.
  std::vector<std::string> types{"text/*",
                                 "application/javascript",
                                 "application/json",
                                 "application/ld+json",
                                 "application/manifest+json",
                                 "application/wasm",
                                 "application/xhtml+xml",
                                 "application/xml",
                                 "application/rss+xml",
                                 "application/atom+xml",
                                 "application/vnd.ms-fontobject",
                                 "font/otf",
                                 "font/ttf",
                                 "image/svg+xml",
                                 "image/bmp",
                                 "image/x-icon"};
};
struct ProxyAction {
  std::string backend;
};

// Programs that answer (RFC 3875): a process for each request.
struct CgiAction {
  std::string root;                        // the folder of the scripts
  std::optional<std::string> script_name;  // the path that stands for the root; absent: the route's own
  std::string index;                       // the script of a folder; empty: none
  FilesAction::Symlinks symlinks = FilesAction::Symlinks::beneath;
  std::vector<Variable> interpreters;  // extension to program; other scripts are executed themselves
  std::vector<Variable> params;
  std::vector<std::string> pass_env;  // variables of the gateway's own environment
  std::vector<std::string> underscored;
  bool authorization = false;
  int max = 32;  // processes at once
  struct Queue {
    int length = 500;
    Millis timeout{2000};
  } queue;
  struct Timeouts {
    Millis first_byte{30000};
    Millis idle{60000};
    Millis total{0};    // from its start; 0: none
    Millis kill{5000};  // between SIGTERM and SIGKILL
  } timeouts;
  std::string user;  // empty: the gateway's
  struct Limits {    // of each process; 0: none but for `files`
    Millis cpu{0};
    std::uint64_t memory = 0;
    std::uint64_t file_size = 0;
    int files = 1024;
    int processes = 0;  // of its user, in all
  } limits;
};
struct RedirectAction {
  std::string location;
  int status = 302;
};  // 301 302 303 307 308
struct RespondAction {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
};

enum class Encoded : std::uint8_t { refuse, allow };

struct Route {
  std::string name;  // metric label; the path text (or "route-N") unless given
  Match match;
  Rewrite rewrite;
  std::vector<HeaderEdit> request_headers;
  std::vector<HeaderEdit> response_headers;
  Compression compression;
  std::optional<std::uint64_t> body_limit;
  Encoded encoded_slash = Encoded::refuse;
  Encoded backslash = Encoded::refuse;
  Encoded nul = Encoded::refuse;
  std::optional<Buffering> request_buffering;   // absent: the backend's
  std::optional<Buffering> response_buffering;  // absent: the backend's
  bool retry_non_idempotent = false;            // retry class (b) for POST too (ADAPTERS X12)
  std::variant<FilesAction, ProxyAction, CgiAction, RedirectAction, RespondAction> action;
  Place place;
};

struct AccessLog {
  enum class Format : std::uint8_t { off, combined, json } format = Format::off;
  std::string file;  // a path, or "/dev/stdout"
};

struct Config {
  std::string file;                          // where it was read from
  int workers = 0;                           // 0: auto
  std::string user;                          // empty: stay
  std::string control;                       // unix socket of the control verbs; empty: next to nothing, off
  std::vector<std::string> trusted_proxies;  // addresses or CIDR blocks
  bool merge_slashes = true;
  bool forwarded = false;  // also send RFC 7239 Forwarded
  struct Client {
    Millis head{10000};
    Millis body_idle{30000};
    Millis keep_alive{60000};
    Millis send_idle{60000};
    std::uint64_t min_rate = 240;  // request body bytes a second after a grace of 5 s; 0: off
  } client;
  struct Limits : wire::HeadLimits {
    std::uint64_t body = 1ULL << 30;
    int connections = 50000;
    int streams = 128;                         // requests at once on one HTTP/2 connection
    std::uint64_t stream_buffer = 256 * 1024;  // bytes of a request body on HTTP/2 that wait to be used
  } limits;
  struct StaticCache {
    std::uint64_t memory = 256ULL << 20;
    std::uint64_t max_file = 1ULL << 20;
    Millis recheck{1000};  // how long a hit is trusted without looking at the file
  } static_cache;
  struct Spool {                         // where buffered bodies wait
    std::uint64_t memory = 64 << 10;     // bytes of each, then a file
    std::uint64_t response = 256 << 20;  // bytes of one answer; what follows is passed on as it comes
    std::string folder = "/tmp";
  } spool;
  AccessLog access_log;
  struct Shutdown {
    Millis delay{0};
    Millis deadline{30000};
  } shutdown;
  std::vector<Listener> listeners;
  std::vector<Backend> backends;
  std::vector<Route> routes;
  std::string admin;  // address of /metrics, /healthz, /readyz; empty: none
  Place admin_place;
};

}  // namespace pontage::config
