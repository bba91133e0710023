// Http1Session: one HTTP/1.0 or 1.1 client connection. Reads a head, lets the exchange desk find the response, and
// sends it while pulling its body; then again, until either side ends the connection. Worker's thread; destroyed
// through its host when it has ended.
#pragma once

#include <memory>
#include <optional>

#include "src/frontend/http1_input.h"
#include "src/frontend/http1_work.h"
#include "src/frontend/session_host.h"

namespace pontage::frontend {

class Http1Session final : public Session, private http::InterimSink {
 public:
  Http1Session(SessionHost& host, std::unique_ptr<net::ByteStream> stream, http::ConnectionInfo connection,
               SessionRules rules);
  ~Http1Session() override;

  // A client that begins with HTTP/2's preface gets an Http2Session instead, which takes the connection over.
  void start() override;

  void drain() noexcept override;
  void cancel() noexcept override;
  void cancel_older_than(std::uint64_t oldest) noexcept override;
  const http::ConnectionInfo& connection() const noexcept override { return connection_; }

 private:
  enum class Next : std::uint8_t { request, close, linger, http2 };
  enum class Head : std::uint8_t { complete, none_yet, ended };

  net::Task<void> run();
  net::Task<Next> detect();
  net::Task<Next> serve_one();
  net::Task<util::Result<Head>> read_head();
  net::Task<util::Result<Head>> await_head();
  std::optional<util::Result<Head>> arrived_head();
  net::Task<Next> handle_request();
  net::Task<Next> refuse(util::Error error);
  net::Task<Next> answer(http::Response response, Next at_best);
  net::Task<void> take_arrived_body();
  net::Task<void> linger();
  net::Task<util::Result<void>> send_interim(const message::ResponseHead& head) override;
  void begin_work();
  void end_work() noexcept;
  static void on_hangup(void* self) noexcept;
  static void on_done(void* self) noexcept;

  SessionHost* host_;
  std::unique_ptr<net::ByteStream> stream_;
  http::ConnectionInfo connection_;
  net::Fiber fiber_;
  Http1Input input_;
  std::unique_ptr<Http1Work> work_;
  SessionRules rules_;
  bool handed_over_ = false;  // to an Http2Session
  bool served_ = false;       // a request was read: from now on the keep-alive deadline counts
};

}  // namespace pontage::frontend
