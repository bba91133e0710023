// Http1Session: one HTTP/1.0 or 1.1 client connection. Reads a head, lets the front desk (exchange_desk.h) find the response, and sends
// it while pulling its body; then again, until either side ends the connection. Worker's thread; destroys itself through its host.
#pragma once

#include <memory>

#include "protocols/http1/decoder.h"
#include "src/frontend/http1_body.h"
#include "src/frontend/http1_input.h"
#include "src/frontend/http1_output.h"
#include "src/frontend/session_host.h"

namespace pontage::frontend {

class Http1Session final : public Session, private http::InterimSink {
 public:
  Http1Session(SessionHost& host, std::unique_ptr<net::ByteStream> stream, http::ConnectionInfo connection,
               net::ByteStream::Hangup hangup_policy_unused = nullptr);
  ~Http1Session() override;

  // Runs until the connection ends. The session must be in its host's list.
  void start();

  void drain() noexcept override;
  void cancel() noexcept override;
  std::uint64_t generation() const noexcept override;

 private:
  // What an exchange needs beyond the connection: taken when a request begins, given up while idle.
  struct Work;
  enum class Next : std::uint8_t { request, close, linger };

  net::Task<void> run();
  net::Task<Next> serve_one();
  net::Task<util::Result<bool>> read_head();
  net::Task<Next> refuse(util::Error error);
  net::Task<Next> answer(http::Response response);
  net::Task<void> linger();
  net::Task<util::Result<void>> send_interim(const message::ResponseHead& head) override;
  void begin_work();
  void end_work() noexcept;
  void report() noexcept;
  static void on_hangup(void* self) noexcept;
  static void on_done(void* self) noexcept;

  SessionHost* host_;
  std::unique_ptr<net::ByteStream> stream_;
  http::ConnectionInfo connection_;
  net::Fiber fiber_;
  Http1Input input_;
  std::unique_ptr<Work> work_;
  std::uint32_t served_ = 0;
  bool idle_ = true;
};

}  // namespace pontage::frontend
