// Session: one connection to the origin, whatever its protocol: its stream, its buffers, the loop over requests, and
// the rough things that faults do to it. Owned by its Worker, which destroys it when it has ended; that worker's thread
// only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "protocols/message/arena.h"
#include "protocols/message/head.h"
#include "protocols/wire/limits.h"
#include "src/net/chunk_pool.h"
#include "src/net/fiber.h"
#include "src/net/stream.h"
#include "src/origin/channel.h"
#include "src/origin/outbox.h"
#include "src/util/intrusive_list.h"

namespace pontage::origin {

class Worker;

// What a session needs only while a request is under way; spare ones wait in the worker.
struct Work {
  message::Arena arena;
  message::RequestHead head;
  Outbox out;
  std::string scratch;
};

// Bytes that have come and nobody has looked at yet.
class Input {
 public:
  std::string_view view() const noexcept { return {chunk_.data() + begin_, end_ - begin_}; }
  bool empty() const noexcept { return begin_ == end_; }
  void consume(std::size_t n) noexcept { begin_ += n; }
  void clear() noexcept { begin_ = end_ = 0; }
  // One read into the free room.
  net::IoResult fill(net::ByteStream& stream) noexcept;
  // Gives the memory back when nothing is in it.
  void relax() noexcept;

 private:
  net::Chunk chunk_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

class Session : public util::ListHook, public Channel {
 public:
  enum class After : std::uint8_t {
    keep,    // the next request
    close,   // FIN
    linger,  // FIN, then read on until the peer closes, so that no reset overtakes the answer (RFC 9112 9.6)
    abort,   // RST
  };

  Session(Worker& worker, util::UniqueFd fd, std::uint64_t number);
  virtual ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void start();
  void cancel() noexcept { fiber_.cancel(); }

  const message::RequestHead& request() const noexcept override { return work_->head; }
  message::Arena& arena() noexcept override { return work_->arena; }
  std::string& scratch() noexcept override { return work_->scratch; }
  std::string_view date() noexcept override;
  net::Task<Done> pause(std::uint64_t milliseconds) override;
  void end_connection() noexcept override { after_ = After::linger; }

  // For faults, which go below the protocol.
  Outbox& out() noexcept { return work_->out; }
  // Sends all that is buffered, then `tail` without copying it.
  net::Task<Done> send_out(std::string_view tail = {});
  void then(After after) noexcept { after_ = after; }
  // Sends what is buffered, then reads and forgets until the peer closes; at most a minute.
  net::Task<Done> wait_for_close();
  net::Task<Done> pause_exactly(std::uint64_t milliseconds);

 protected:
  enum class Idle : std::uint8_t { no, yes };      // between requests: the buffers are given back meanwhile
  static constexpr std::size_t kMuch = 64 * 1024;  // buffered bytes that are sent rather than kept
  static constexpr std::size_t kWorthNoCopy = 8 * 1024;
  // Generous: what a gateway lets through, the origin must be able to tell about.
  static constexpr wire::HeadLimits kLimits{
      .request_line = 256 * 1024, .header = 256 * 1024, .headers = 1024 * 1024, .header_count = 2000};

  // Reads a request's head into work. False: the connection has ended, or after_ says how it ends.
  virtual net::Task<util::Result<bool>> next_request() = 0;
  // What the protocol puts after an answer; then the request has been read to its end, or after_ is not `keep`.
  virtual net::Task<Done> finish() = 0;

  // Ready for a request: the work is there and fresh.
  void begin_work();
  // Reads at least one byte; sends what is buffered before it waits. False at the orderly end.
  net::Task<util::Result<bool>> fill(Idle idle);
  // As fill(), within a request: an end is an error.
  net::Task<Done> fill_more();
  // Reads what is left of a body that nobody asked for; lingers instead when it is long.
  net::Task<Done> drain_body();

  Worker* worker_;
  net::SocketStream stream_;
  net::Fiber fiber_;
  Input input_;
  std::unique_ptr<Work> work_;
  std::uint64_t number_;
  std::uint64_t requests_ = 0;
  After after_ = After::keep;

 private:
  net::Task<void> run();
  net::Task<void> end();
  net::Task<void> linger(std::uint64_t milliseconds);
  static void on_hangup(void* self) noexcept;
  static void on_done(void* self) noexcept;

  std::uint32_t busy_ = 0;  // operations since this session last waited
};

}  // namespace pontage::origin
