// ByteStream: a connected, non-blocking byte stream, whatever carries it (TCP and unix sockets here; TLS adds a class).
// The try_* functions never suspend and do at most one system call; the awaitables wait for what the last try asked
// for. A stream remembers edge-triggered readiness, so a try that cannot succeed costs nothing. Its share of a turn is
// limited: after kShare bytes the tries want a wait, which ends in the next turn, so that two fast peers do not keep
// the worker from all others. Owned by a session or a backend connection; worker's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <sys/uio.h>

#include "src/net/fiber.h"
#include "src/net/reactor.h"
#include "src/util/error.h"
#include "src/util/unique_fd.h"

namespace pontage::net {

enum class IoStatus : std::uint8_t { done, want_read, want_write, end, error };
struct IoResult {
  IoStatus status = IoStatus::done;
  std::size_t bytes = 0;  // for `done`
  int os_error = 0;       // for `error`
};

enum class More : std::uint8_t { no, follows };  // whether another write follows at once (MSG_MORE)

class ByteStream : public EventTarget {
 public:
  // Bytes in one turn, both directions together; the call that reaches it is still done whole.
  static constexpr std::size_t kShare = 1024 * 1024;
  // Told in the first pass of a turn, see watch_hangup(). Runs no fiber.
  using Hangup = void (*)(void* argument) noexcept;
  enum class OnInput : std::uint8_t { ignore, report };  // whether bytes count as the end of an idle connection, too

  ByteStream(Reactor& reactor, util::UniqueFd fd) noexcept;
  virtual ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  // Up to `room` bytes; `end` at an orderly end of stream.
  virtual IoResult try_read(std::span<char> room) noexcept = 0;
  // Gathers the pieces into one send; may take only a part of them.
  virtual IoResult try_write(std::span<const iovec> pieces, More more) noexcept = 0;
  // Up to `count` bytes of `file` from `offset`. `done` with 0 bytes: the file is shorter than that.
  virtual IoResult try_send_file(int file, std::uint64_t offset, std::size_t count) noexcept = 0;
  // Ends our direction; the peer reads an end of stream.
  virtual void shutdown_write() noexcept = 0;
  // The stream becomes readable only when `bytes` wait, or an end; 1 takes that back, and what waits already is told
  // then. A wish: streams that cannot do without it (SO_RCVLOWAT) ignore it. One system call.
  virtual void wake_at(std::size_t /*bytes*/) noexcept {}

  // Suspends until the stream may be read (written) again, the deadline passes, or the fiber is cancelled.
  class Ready;
  Ready readable(Deadline deadline, observe::Phase phase) noexcept;
  Ready writable(Deadline deadline, observe::Phase phase) noexcept;
  // Whichever comes first, for a fiber that does both.
  Ready readable_or_writable(Deadline deadline, observe::Phase phase) noexcept;
  // readable() or writable(), as the last try wanted.
  Ready wanted(IoStatus status, Deadline deadline, observe::Phase phase) noexcept;

  // While set, `hangup(argument)` is called when the peer resets or closes its direction, and with OnInput::report also
  // when it sends anything. It may destroy the stream. nullptr ends it.
  void watch_hangup(Hangup hangup, void* argument, OnInput on_input = OnInput::ignore) noexcept;
  // Whether what came in is more than a transport's word for itself, such as a session ticket.
  virtual bool input_matters() noexcept { return true; }
  // What is known without a system call: bytes or an end are waiting; the peer has closed its direction or reset.
  bool maybe_readable() const noexcept { return readable_; }
  bool peer_closed() const noexcept { return peer_closed_; }
  bool peer_reset() const noexcept { return failed_; }

  int fd() const noexcept { return fd_.get(); }
  Reactor& reactor() const noexcept { return *reactor_; }
  // Leaves this reactor and gives the descriptor away; the stream is dead afterwards.
  util::UniqueFd release() noexcept;
  // Leaves this reactor, whole, for another worker: nobody may wait, and nothing may be buffered. There it is attached.
  void detach() noexcept;
  void attach(Reactor& reactor) noexcept;
  // A connect is under way: the stream is not writable before the kernel says so.
  void expect_connect() noexcept { writable_ = false; }
  // Makes the close a reset, so that a truncated answer cannot look complete.
  void abort_on_close() noexcept;

  void on_events(std::uint32_t events) noexcept final;

 protected:
  void note_read(const IoResult& result, std::size_t room) noexcept;
  void note_moved(std::size_t bytes) noexcept {
    if (share_turn_ != reactor_->turn()) {
      share_turn_ = reactor_->turn();
      moved_ = 0;
    }
    moved_ += bytes;
  }
  bool is_share_used() const noexcept { return moved_ >= kShare && share_turn_ == reactor_->turn(); }
  bool may_read() const noexcept { return readable_ && !is_share_used(); }
  bool may_write() const noexcept { return writable_ && !is_share_used(); }

  Reactor* reactor_;
  util::UniqueFd fd_;
  bool readable_ = false;
  bool writable_ = true;
  bool peer_closed_ = false;
  bool failed_ = false;
  // For transports with bytes of their own (TLS): the socket, rather than the stream, may be read; a read waits until
  // it may be written; the close is a reset.
  bool socket_readable_ = false;
  bool read_wants_write_ = false;
  bool aborted_ = false;

 private:
  Ready* reader_ = nullptr;
  Ready* writer_ = nullptr;
  Hangup hangup_ = nullptr;
  void* hangup_argument_ = nullptr;
  OnInput on_input_ = OnInput::ignore;
  std::uint32_t share_turn_ = 0;
  std::size_t moved_ = 0;  // bytes in turn share_turn_
};

class ByteStream::Ready : public Wait {
 public:
  Ready(ByteStream& stream, bool& flag, Ready*& slot, Deadline deadline, observe::Phase phase) noexcept
      : Wait(phase, deadline), stream_(&stream), flag_(&flag), slot_(&slot) {}
  // Both ways.
  Ready(ByteStream& stream, Deadline deadline, observe::Phase phase) noexcept
      : Wait(phase, deadline),
        stream_(&stream),
        flag_(&stream.readable_),
        slot_(&stream.reader_),
        second_flag_(&stream.writable_),
        second_slot_(&stream.writer_) {}

  bool await_ready() const noexcept { return is_ready() && !stream_->is_share_used(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    if (!suspend(coroutine)) return false;
    if (is_ready()) {
      complete(WaitResult::ready);  // only its share was used up: it goes on in the next turn
      return true;
    }
    *slot_ = this;
    if (second_slot_ != nullptr) *second_slot_ = this;
    return true;
  }
  WaitResult await_resume() const noexcept { return result(); }

 private:
  bool is_ready() const noexcept { return *flag_ || (second_flag_ != nullptr && *second_flag_); }
  void withdraw() noexcept override {
    *slot_ = nullptr;
    if (second_slot_ != nullptr) *second_slot_ = nullptr;
  }
  ByteStream* stream_;
  bool* flag_;
  Ready** slot_;
  bool* second_flag_ = nullptr;
  Ready** second_slot_ = nullptr;
};

inline ByteStream::Ready ByteStream::readable(Deadline deadline, observe::Phase phase) noexcept {
  return Ready(*this, readable_, reader_, deadline, phase);
}
inline ByteStream::Ready ByteStream::writable(Deadline deadline, observe::Phase phase) noexcept {
  return Ready(*this, writable_, writer_, deadline, phase);
}
inline ByteStream::Ready ByteStream::readable_or_writable(Deadline deadline, observe::Phase phase) noexcept {
  return Ready(*this, deadline, phase);
}
inline ByteStream::Ready ByteStream::wanted(IoStatus status, Deadline deadline, observe::Phase phase) noexcept {
  return status == IoStatus::want_write ? writable(deadline, phase) : readable(deadline, phase);
}

// TCP and unix sockets. TCP gets TCP_NODELAY from who opens it.
class SocketStream final : public ByteStream {
 public:
  using ByteStream::ByteStream;
  IoResult try_read(std::span<char> room) noexcept override;
  IoResult try_write(std::span<const iovec> pieces, More more) noexcept override;
  IoResult try_send_file(int file, std::uint64_t offset, std::size_t count) noexcept override;
  void shutdown_write() noexcept override;
  // What a try_read would give, left where it is. Until it is read, the stream stays readable.
  IoResult try_peek(std::span<char> room) noexcept;
  void wake_at(std::size_t bytes) noexcept override;  // TCP; a unix socket's readiness does not know of it
};

// Reads at least one byte into `room`; 0 bytes mean the orderly end. Errors carry `source`.
Task<util::Result<std::size_t>> read_some(ByteStream& stream, std::span<char> room, Deadline deadline,
                                          observe::Phase phase, util::Source source);
// Writes all pieces (at most 64; the array is changed). `idle_ms` bounds each wait for the peer, 0 never ends.
Task<util::Result<void>> write_all(ByteStream& stream, std::span<iovec> pieces, More more, std::uint64_t idle_ms,
                                   observe::Phase phase, util::Source source);
// What is left of `pieces` (whose first is changed) when `bytes` of them were taken.
std::span<iovec> behind(std::span<iovec> pieces, std::size_t bytes) noexcept;
// What a wait that did not end in `ready` means.
util::Error wait_error(WaitResult result, util::Source source, std::string_view detail) noexcept;
util::Error io_error(const IoResult& result, util::Source source, std::string_view detail) noexcept;

// A pause; `cancelled` when the fiber was. For back-off and tests.
class Pause : public Wait {
 public:
  explicit Pause(Deadline until, observe::Phase phase = observe::Phase::queue) noexcept : Wait(phase, until) {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    return suspend(coroutine);
  }
  WaitResult await_resume() const noexcept { return result(); }
};

// Lets every other ready fiber run once before this one goes on.
class Yield : public Wait {
 public:
  explicit Yield(observe::Phase phase = observe::Phase::loop) noexcept : Wait(phase, kNoDeadline) {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    if (!suspend(coroutine)) return false;
    complete(WaitResult::ready);
    return true;
  }
  WaitResult await_resume() const noexcept { return result(); }
};

}  // namespace pontage::net
