// A ByteStream over two pipes: what a process writes is read, and what it reads is written. Owned by the connection to
// that process; worker's thread.
#pragma once

#include "src/net/stream.h"

namespace pontage::net {

class PipeStream final : public ByteStream {
 public:
  // The near ends, non-blocking. `to` may be empty: then there is nothing to write. The process must ignore SIGPIPE.
  PipeStream(Reactor& reactor, util::UniqueFd from, util::UniqueFd to);

  IoResult try_read(std::span<char> room) noexcept override;
  IoResult try_write(std::span<const iovec> pieces, More more) noexcept override;
  IoResult try_send_file(int file, std::uint64_t offset, std::size_t count) noexcept override;
  // Closes the pipe: its reader sees the end.
  void shutdown_write() noexcept override;

  // Whoever holds the other end is not waited for any more: what is in the pipe now is read, then the stream ends.
  void end_input() noexcept;
  // As end_input(), but at once, and reads fail with this errno.
  void fail_input(int os_error) noexcept;

 private:
  struct Outlet final : EventTarget {
    explicit Outlet(PipeStream& s) noexcept : stream(&s) {}
    void on_events(std::uint32_t events) noexcept override;
    PipeStream* stream;
  };
  IoResult write_failed() noexcept;
  void wake_reader() noexcept;

  util::UniqueFd to_;
  Outlet outlet_{*this};
  int failure_ = 0;
  bool let_go_ = false;
  std::size_t left_ = 0;  // to read, once it was let go
};

}  // namespace pontage::net
