// SessionHost: what every session of one worker shares: the configuration in force, counters, the access log, spare
// exchanges, and the list of live sessions for draining. Owned by the worker; its thread only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "protocols/http2/fault.h"
#include "src/http/exchange.h"
#include "src/net/blocking_pool.h"
#include "src/net/reactor.h"
#include "src/observe/access_ring.h"
#include "src/observe/metrics.h"
#include "src/routing/site.h"
#include "src/util/intrusive_list.h"

namespace pontage::frontend {

// Labels of `connections`, and what ConnectionInfo::protocol says.
inline constexpr std::string_view kHttp1Name = "http/1.1";
inline constexpr std::string_view kHttp2Name = "h2";

// What a listener lets its clients do.
enum class Http2 : std::uint8_t { off, on };
struct SessionRules {
  config::Listener::HalfClose half_close = config::Listener::HalfClose::refuse;
  Http2 http2 = Http2::off;
};

// One client connection, whatever its protocol.
class Session : public util::ListHook {
 public:
  virtual ~Session() = default;
  // Runs until the connection ends. The session must be in its host's list.
  virtual void start() = 0;
  // The worker drains: an idle session ends now, a busy one after its exchange.
  virtual void drain() noexcept = 0;
  // The deadline has passed: end whatever goes on.
  virtual void cancel() noexcept = 0;
  // Ends exchanges that began under a generation of the configuration before `oldest`.
  virtual void cancel_older_than(std::uint64_t oldest) noexcept = 0;
  // The host's configuration was replaced.
  virtual void on_new_site() noexcept {}
  virtual const http::ConnectionInfo& connection() const noexcept = 0;
};

// How a TLS handshake ended.
enum class Handshake : std::uint8_t { full, resumed, failed, aborted, timeout, plain_http };

// What came of a trusted proxy's PROXY header: one that was read, none at all, a wrong one, and so on.
enum class ProxyHeader : std::uint8_t { v1, v2, missing, malformed, timeout, aborted };

// The series every session counts into, registered once (src/frontend/series.cc).
struct SessionSeries {
  explicit SessionSeries(observe::Metrics& metrics);
  static constexpr std::size_t kKinds = util::kErrorKinds;
  observe::SeriesId in_flight, request_bytes, response_bytes, cache_hit, cache_miss, cache_uncached, h2_streams;
  std::array<observe::SeriesId, 3> protocols;                   // HTTP/1.0, HTTP/1.1, HTTP/2
  std::array<std::array<observe::SeriesId, kKinds>, 3> aborts;  // by util::Source and util::ErrorKind
  std::array<observe::SeriesId, 32> decode_limits;              // by wire::DecodeError
  std::array<observe::SeriesId, http2::kFaults> floods;         // by http2::Fault
  observe::SeriesId limit_body, limit_rate, limit_connections, limit_queue;
  std::array<observe::SeriesId, 6> handshakes;     // by Handshake
  std::array<observe::SeriesId, 6> proxy_headers;  // by ProxyHeader
};

struct Http1Work;
class Http2Stream;

class SessionHost {
 public:
  // `disk` reads what is not in the page cache; nullptr: the worker waits for the disk itself.
  SessionHost(net::Reactor& reactor, observe::WorkerMetrics& metrics, const SessionSeries& series,
              observe::AccessRing* log, net::BlockingPool* disk = nullptr);
  ~SessionHost();

  net::Reactor& reactor() const noexcept { return *reactor_; }
  observe::WorkerMetrics& metrics() const noexcept { return *metrics_; }
  const SessionSeries& series() const noexcept { return *series_; }
  observe::AccessRing* access_log() const noexcept { return log_; }
  net::BlockingPool* disk() const noexcept { return disk_; }
  // Exchanges that no session needs at present, for the next request.
  std::vector<std::unique_ptr<Http1Work>>& spare_work() noexcept { return spare_work_; }
  std::vector<std::unique_ptr<Http2Stream>>& spare_streams() noexcept { return spare_streams_; }

  // The configuration that new exchanges begin with; never null once the worker runs.
  const std::shared_ptr<const routing::Site>& site() const noexcept { return site_; }
  void set_site(std::shared_ptr<const routing::Site> site);

  // Takes a session in and starts it. It may have ended when this returns.
  void begin(std::unique_ptr<Session> session);
  // The session has ended: it is destroyed here.
  void remove(Session& session) noexcept;
  std::size_t count() const noexcept { return count_; }
  bool draining() const noexcept { return draining_; }
  void drain() noexcept;
  void cancel_all() noexcept;
  // Ends sessions whose exchange began under a generation before `oldest`.
  void cancel_older_than(std::uint64_t oldest) noexcept;
  // Called when the last session has gone while draining.
  void on_empty(std::function<void()> empty) { empty_ = std::move(empty); }
  // Called for each session that begins; and for each that ends, before it is destroyed.
  using Told = std::function<void(const http::ConnectionInfo&)>;
  void on_begun(Told begun) { begun_ = std::move(begun); }
  void on_removed(Told removed) { removed_ = std::move(removed); }

  // "Date: ...\r\nServer: pontage\r\n" of this second.
  std::string_view date_lines() noexcept;
  // The date alone.
  std::string_view date() noexcept { return date_lines().substr(kDateName, kDateSize); }

 private:
  static constexpr std::size_t kDateName = 6;  // "Date: "
  static constexpr std::size_t kDateSize = 29;
  void tell_empty() noexcept;

  net::Reactor* reactor_;
  observe::WorkerMetrics* metrics_;
  const SessionSeries* series_;
  observe::AccessRing* log_;
  net::BlockingPool* disk_;
  std::vector<std::unique_ptr<Http1Work>> spare_work_;
  std::vector<std::unique_ptr<Http2Stream>> spare_streams_;
  std::shared_ptr<const routing::Site> site_;
  util::IntrusiveList<Session> sessions_;
  std::size_t count_ = 0;
  bool draining_ = false;
  std::function<void()> empty_;
  Told begun_;
  Told removed_;
  std::int64_t date_second_ = -1;
  char date_lines_[64] = {};
  std::size_t date_size_ = 0;
};

}  // namespace pontage::frontend
