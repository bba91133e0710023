// A SessionHost on a thread of its own, with one route whose handler the test gives, and clients that talk to it over
// sockets. Everything a client waits for ends by what the session does; a receive timeout keeps a failure from hanging.
#pragma once

#include <cerrno>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "src/frontend/http1_session.h"
#include "src/http/handler.h"
#include "src/http/simple_response.h"
#include "src/net/recycler.h"
#include "tests/unit/net/sockets.h"

namespace pontage::frontend::testing {

using net::Task;
using Answer = Task<util::Result<http::Response>>;

class TestHandler final : public http::Handler {
 public:
  using Run = std::function<Answer(http::Exchange&)>;
  explicit TestHandler(Run run) : run_(std::move(run)) {}
  Answer handle(http::Exchange& exchange) override { return run_(exchange); }

 private:
  Run run_;
};

// One response as a client sees it.
struct Reply {
  int status = 0;  // 0: none came
  std::string head;
  std::string body;
  bool complete = false;  // the body reached its end as the head promised
  bool has(std::string_view text) const { return head.find(text) != std::string::npos; }
};

// A client with a blocking socket.
class Client {
 public:
  explicit Client(util::UniqueFd fd) : fd_(std::move(fd)) {
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  }

  // False when the session has closed its end meanwhile.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void end_sending() { ::shutdown(fd_.get(), SHUT_WR); }
  void leave() { fd_.reset(); }

  enum class Expect { body, no_body };
  Reply receive(Expect expect = Expect::body);
  // The next bytes, as they are; fewer at the end of the connection.
  std::string take(std::size_t count) {
    while (buffer_.size() < count && more()) {
    }
    std::string bytes = buffer_.substr(0, count);
    buffer_.erase(0, count);
    return bytes;
  }
  // Nothing more comes: an orderly end.
  bool ended() { return buffer_.empty() && !more() && !was_reset_; }
  bool was_reset() const { return was_reset_; }

 private:
  bool more() {
    char room[65536];
    const ssize_t got = ::recv(fd_.get(), room, sizeof room, 0);
    if (got > 0) buffer_.append(room, static_cast<std::size_t>(got));
    EXPECT_FALSE(got < 0 && errno == EAGAIN) << "nothing came for a minute";
    was_reset_ = got < 0 && errno == ECONNRESET;
    return got > 0;
  }
  std::string line();
  void read_chunks(Reply& reply);

  util::UniqueFd fd_;
  std::string buffer_;
  bool was_reset_ = false;
};

inline std::string Client::line() {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n")) == std::string::npos) {
    if (!more()) return {};
  }
  std::string text = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return text;
}

inline void Client::read_chunks(Reply& reply) {
  for (;;) {
    const std::string size_line = line();
    if (size_line.empty()) return;
    const std::size_t size = std::stoul(size_line, nullptr, 16);
    if (size == 0) {
      for (std::string field; !(field = line()).empty();) reply.head += "\r\ntrailer " + field;
      reply.complete = true;
      return;
    }
    while (buffer_.size() < size + 2) {
      if (more()) continue;
      reply.body += buffer_;
      buffer_.clear();
      return;
    }
    reply.body += buffer_.substr(0, size);
    buffer_.erase(0, size + 2);
  }
}

inline Reply Client::receive(Expect expect) {
  Reply reply;
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!more()) return reply;
  }
  reply.head = buffer_.substr(0, end + 2);
  buffer_.erase(0, end + 4);
  reply.status = std::stoi(reply.head.substr(9, 3));
  const bool interim = reply.status < 200;
  if (interim || expect == Expect::no_body || reply.status == 204 || reply.status == 304) {
    reply.complete = true;
    return reply;
  }
  if (reply.has("Transfer-Encoding: chunked\r\n")) {
    read_chunks(reply);
    return reply;
  }
  const auto at = reply.head.find("Content-Length: ");
  if (at == std::string::npos) {
    while (more()) {
    }
    reply.body = std::exchange(buffer_, {});
    reply.complete = !was_reset_;
    return reply;
  }
  const std::size_t length = std::stoul(reply.head.substr(at + 16));
  while (buffer_.size() < length && more()) {
  }
  reply.complete = buffer_.size() >= length;
  reply.body = buffer_.substr(0, length);
  buffer_.erase(0, length);
  return reply;
}

class Gateway {
 public:
  explicit Gateway(TestHandler::Run run, const config::Config& wanted = {})
      : series_(metrics_), host_(reactor_, metrics_.add_worker(), series_, nullptr) {
    util::calibrate_cycles();
    config::Config config = wanted;
    config.routes.resize(1);
    config.routes[0].action = config::RespondAction{};
    auto site = std::make_shared<routing::Site>(routing::Site{.config = config,
                                                              .table = routing::RouteTable(config),
                                                              .routes = {},
                                                              .forwarding = {},
                                                              .backends = {},
                                                              .no_route = {},
                                                              .generation = 1});
    site->forwarding = std::make_shared<http::ForwardingPolicy>();
    routing::Route route;
    route.name = "test";
    route.handler = std::make_unique<TestHandler>(std::move(run));
    route.body_limit = config.limits.body;
    using observe::Family;
    route.series.id = metrics_.intern_route("test");
    route.series.duration = metrics_.histogram(Family::request_duration_seconds, "test");
    for (std::size_t i = 0; i < observe::kPhases; ++i) {
      route.series.phases[i] = metrics_.histogram(Family::phase_duration_seconds, "test", "none",
                                                  observe::to_string(static_cast<observe::Phase>(i)));
    }
    site->routes.push_back(std::move(route));
    host_.set_site(std::move(site));
    thread_ = std::thread([this] {
      reactor_.run();
      net::Recycler::trim();
    });
  }
  ~Gateway() {
    on_worker([this] { host_.cancel_all(); });
    while (sessions() > 0) std::this_thread::yield();
    reactor_.stop();
    thread_.join();
  }
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  Client connect(SessionRules rules = {}) { return adopt(net::testing::make_pair(), rules); }
  Client connect_tcp() { return adopt(net::testing::make_tcp_pair()); }

  // Runs `work` on the worker's thread and waits for it: what went on there before has come to rest.
  template <class F>
  void on_worker(F work) {
    std::promise<void> done;
    reactor_.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  std::size_t sessions() {
    std::size_t count = 0;
    on_worker([&] { count = host_.count(); });
    return count;
  }
  void drain() {
    on_worker([this] { host_.drain(); });
  }
  // The sum of a family's values.
  double total(observe::Family family) {
    on_worker([] {});
    double sum = 0;
    metrics_.read([&](const observe::Sample& sample) {
      if (sample.family == family) {
        sum += sample.histogram != nullptr ? static_cast<double>(sample.histogram->sum()) : sample.value;
      }
    });
    return sum;
  }

 private:
  Client adopt(net::testing::Pair pair, SessionRules rules = {}) {
    const int flags = ::fcntl(pair.far.get(), F_GETFL);
    ::fcntl(pair.far.get(), F_SETFL, flags & ~O_NONBLOCK);
    on_worker([&] {
      http::ConnectionInfo info;
      info.peer_ip = "192.0.2.1";
      info.local_ip = "192.0.2.2";
      info.local_port = 80;
      auto stream = std::make_unique<net::SocketStream>(reactor_, std::move(pair.near));
      host_.begin(std::make_unique<Http1Session>(host_, std::move(stream), std::move(info), rules));
    });
    return Client(std::move(pair.far));
  }

  observe::Metrics metrics_;
  SessionSeries series_;
  net::Reactor reactor_;
  SessionHost host_;
  std::thread thread_;
};

inline constexpr std::string_view kGet = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";

// Answers every request with the same few bytes.
inline Answer hello(http::Exchange& exchange) {
  co_return http::make_response(exchange, 200, "text/plain", "hello\n");
}
// Answers with the path.
inline Answer path(http::Exchange& exchange) {
  co_return http::make_response(exchange, 200, "text/plain", exchange.path.path);
}
// Reads the request's body and answers with it.
inline Answer echo(http::Exchange& exchange) {
  std::string_view all;
  http::BodyBatch batch;
  while (exchange.body != nullptr && batch.last == http::Last::no) {
    batch.clear();
    const auto pulled = co_await exchange.body->pull(batch, 65536, http::Patience::wait);
    if (!pulled) co_return util::Failure(pulled.error());
    for (const auto& piece : batch.view()) all = exchange.arena.join({all, piece.memory});
  }
  co_return http::make_response(exchange, 200, "text/plain", all);
}

}  // namespace pontage::frontend::testing
