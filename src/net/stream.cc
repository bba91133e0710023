#include "src/net/stream.h"

#include <cerrno>
#include <system_error>

#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

namespace pontage::net {

ByteStream::ByteStream(Reactor& reactor, util::UniqueFd fd) noexcept : reactor_(&reactor), fd_(std::move(fd)) {
  if (!reactor.add(fd_.get(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, *this)) failed_ = readable_ = true;
}

// Closing the descriptor takes it out of epoll; it is never duplicated.
ByteStream::~ByteStream() = default;

void ByteStream::on_events(std::uint32_t events) noexcept {
  const bool input = (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
  if (input) socket_readable_ = true;
  if (input || (read_wants_write_ && (events & EPOLLOUT) != 0)) {
    readable_ = true;
    if (reader_ != nullptr) reader_->complete(WaitResult::ready);
  }
  if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) {
    writable_ = true;
    if (writer_ != nullptr) writer_->complete(WaitResult::ready);
  }
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
    peer_closed_ = true;
    if ((events & (EPOLLHUP | EPOLLERR)) != 0) failed_ = true;
    if (hangup_ != nullptr) hangup_(hangup_argument_);
  } else if (hangup_ != nullptr && (events & EPOLLIN) != 0 && on_input_ == OnInput::report && input_matters()) {
    hangup_(hangup_argument_);
  }
}

void ByteStream::watch_hangup(Hangup hangup, void* argument, OnInput on_input) noexcept {
  hangup_ = hangup;
  hangup_argument_ = argument;
  on_input_ = on_input;
}

util::UniqueFd ByteStream::release() noexcept {
  reactor_->remove(fd_.get());
  return std::move(fd_);
}

void ByteStream::detach() noexcept {
  reactor_->remove(fd_.get());
}

// Adding reports what is ready already, as a new edge.
void ByteStream::attach(Reactor& reactor) noexcept {
  reactor_ = &reactor;
  if (!reactor.add(fd_.get(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, *this)) failed_ = readable_ = true;
}

void ByteStream::abort_on_close() noexcept {
  aborted_ = true;
  const linger hard{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
}

// A read that filled less than its room has drained the socket: the next edge will tell. After EPOLLRDHUP no edge comes
// any more.
void ByteStream::note_read(const IoResult& result, std::size_t room) noexcept {
  if (result.status == IoStatus::want_read) readable_ = false;
  if (result.status == IoStatus::done && result.bytes < room) readable_ = peer_closed_;
}

IoResult SocketStream::try_read(std::span<char> room) noexcept {
  if (!may_read()) return {.status = IoStatus::want_read};
  IoResult result;
  const ssize_t got = ::recv(fd_.get(), room.data(), room.size(), 0);
  if (got > 0) {
    result.bytes = static_cast<std::size_t>(got);
    note_moved(result.bytes);
  } else if (got == 0) {
    result.status = IoStatus::end;
  } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
    result.status = IoStatus::want_read;
    if (errno == EINTR) return {.status = IoStatus::want_read};
  } else {
    result = {.status = IoStatus::error, .os_error = errno};
  }
  note_read(result, room.size());
  return result;
}

IoResult SocketStream::try_peek(std::span<char> room) noexcept {
  if (!may_read()) return {.status = IoStatus::want_read};
  const ssize_t got = ::recv(fd_.get(), room.data(), room.size(), MSG_PEEK);
  if (got > 0) return {.bytes = static_cast<std::size_t>(got)};
  if (got == 0) return {.status = IoStatus::end};
  if (errno == EINTR) return {.status = IoStatus::want_read};
  if (errno != EAGAIN && errno != EWOULDBLOCK) return {.status = IoStatus::error, .os_error = errno};
  readable_ = false;
  return {.status = IoStatus::want_read};
}

IoResult SocketStream::try_write(std::span<const iovec> pieces, More more) noexcept {
  if (!may_write()) return {.status = IoStatus::want_write};
  const int flags = MSG_NOSIGNAL | (more == More::follows ? MSG_MORE : 0);
  std::size_t total = 0;
  for (const auto& piece : pieces) total += piece.iov_len;
  ssize_t sent = 0;
  if (pieces.size() == 1) {
    sent = ::send(fd_.get(), pieces[0].iov_base, pieces[0].iov_len, flags);  // cheaper than sendmsg
  } else {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces.data());
    message.msg_iovlen = pieces.size();
    sent = ::sendmsg(fd_.get(), &message, flags);
  }
  if (sent >= 0) {
    if (static_cast<std::size_t>(sent) < total) writable_ = false;
    note_moved(static_cast<std::size_t>(sent));
    return {.bytes = static_cast<std::size_t>(sent)};
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK) {
    writable_ = false;
    return {.status = IoStatus::want_write};
  }
  if (errno == EINTR) return {.bytes = 0};
  return {.status = IoStatus::error, .os_error = errno};
}

IoResult SocketStream::try_send_file(int file, std::uint64_t offset, std::size_t count) noexcept {
  if (!may_write()) return {.status = IoStatus::want_write};
  auto at = static_cast<off_t>(offset);
  const ssize_t sent = ::sendfile(fd_.get(), file, &at, count);
  if (sent >= 0) {
    note_moved(static_cast<std::size_t>(sent));
    return {.bytes = static_cast<std::size_t>(sent)};
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK) {
    writable_ = false;
    return {.status = IoStatus::want_write};
  }
  return {.status = IoStatus::error, .os_error = errno};
}

void SocketStream::shutdown_write() noexcept {
  ::shutdown(fd_.get(), SHUT_WR);
}

void SocketStream::wake_at(std::size_t bytes) noexcept {
  const int mark = static_cast<int>(bytes);
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof mark);
}

util::Error wait_error(WaitResult result, util::Source source, std::string_view detail) noexcept {
  if (result == WaitResult::timeout) return {.kind = util::ErrorKind::timeout, .source = source, .detail = detail};
  // Whoever was waited for, it is the client who left (or the drain deadline, which says so itself).
  return {.kind = util::ErrorKind::cancelled, .source = util::Source::client, .detail = detail};
}

util::Error io_error(const IoResult& result, util::Source source, std::string_view detail) noexcept {
  auto kind = util::ErrorKind::io;
  if (result.status == IoStatus::end) kind = util::ErrorKind::closed;
  if (result.os_error == ECONNRESET || result.os_error == EPIPE) kind = util::ErrorKind::reset;
  if (result.os_error == ETIMEDOUT) kind = util::ErrorKind::timeout;
  return {.kind = kind, .source = source, .os_error = result.os_error, .detail = detail};
}

Task<util::Result<std::size_t>> read_some(ByteStream& stream, std::span<char> room, Deadline deadline,
                                          observe::Phase phase, util::Source source) {
  for (;;) {
    const IoResult got = stream.try_read(room);
    if (got.status == IoStatus::done) co_return got.bytes;
    if (got.status == IoStatus::end) co_return std::size_t{0};
    if (got.status == IoStatus::error) co_return util::Failure(io_error(got, source, "read"));
    const WaitResult waited = co_await stream.wanted(got.status, deadline, phase);
    if (waited != WaitResult::ready) co_return util::Failure(wait_error(waited, source, "read"));
  }
}

std::span<iovec> behind(std::span<iovec> pieces, std::size_t bytes) noexcept {
  while (!pieces.empty() && bytes >= pieces.front().iov_len) {
    bytes -= pieces.front().iov_len;
    pieces = pieces.subspan(1);
  }
  if (!pieces.empty()) {
    pieces.front().iov_base = static_cast<char*>(pieces.front().iov_base) + bytes;
    pieces.front().iov_len -= bytes;
  }
  return pieces;
}

Task<util::Result<void>> write_all(ByteStream& stream, std::span<iovec> pieces, More more, std::uint64_t idle_ms,
                                   observe::Phase phase, util::Source source) {
  while (!pieces.empty()) {
    const IoResult put = stream.try_write(pieces, more);
    if (put.status == IoStatus::error) co_return util::Failure(io_error(put, source, "write"));
    if (put.status != IoStatus::done) {
      const Deadline deadline = stream.reactor().after(idle_ms);
      const WaitResult waited = co_await stream.wanted(put.status, deadline, phase);
      if (waited != WaitResult::ready) co_return util::Failure(wait_error(waited, source, "write"));
      continue;
    }
    pieces = behind(pieces, put.bytes);
  }
  co_return util::Result<void>{};
}

}  // namespace pontage::net
