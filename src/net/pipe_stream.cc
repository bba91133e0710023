#include "src/net/pipe_stream.h"

#include <algorithm>
#include <cerrno>

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>

namespace pontage::net {

PipeStream::PipeStream(Reactor& reactor, util::UniqueFd from, util::UniqueFd to)
    : ByteStream(reactor, std::move(from)), to_(std::move(to)) {
  if (to_ && !reactor.add(to_.get(), EPOLLOUT | EPOLLET, outlet_)) to_.reset();
}

// That the reader has gone is found by the write that fails.
void PipeStream::Outlet::on_events(std::uint32_t) noexcept {
  stream->on_events(EPOLLOUT);
}

IoResult PipeStream::try_read(std::span<char> room) noexcept {
  if (failure_ != 0) return {.status = IoStatus::error, .os_error = failure_};
  if (!may_read()) return {.status = IoStatus::want_read};
  if (let_go_) room = room.first(std::min(room.size(), left_));
  if (room.empty()) return {.status = IoStatus::end};
  IoResult result;
  const ssize_t got = ::read(fd_.get(), room.data(), room.size());
  if (got > 0) {
    result.bytes = static_cast<std::size_t>(got);
    if (let_go_) left_ -= result.bytes;
    note_moved(result.bytes);
  } else if (got == 0) {
    result.status = IoStatus::end;
  } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
    result.status = let_go_ ? IoStatus::end : IoStatus::want_read;
  } else if (errno == EINTR) {
    return {.status = IoStatus::want_read};
  } else {
    result = {.status = IoStatus::error, .os_error = errno};
  }
  note_read(result, room.size());
  return result;
}

IoResult PipeStream::write_failed() noexcept {
  if (errno == EINTR) return {.bytes = 0};
  if (errno != EAGAIN && errno != EWOULDBLOCK) return {.status = IoStatus::error, .os_error = errno};
  writable_ = false;
  return {.status = IoStatus::want_write};
}

IoResult PipeStream::try_write(std::span<const iovec> pieces, More) noexcept {
  if (!to_) return {.status = IoStatus::error, .os_error = EPIPE};
  if (!may_write()) return {.status = IoStatus::want_write};
  const ssize_t sent = ::writev(to_.get(), pieces.data(), static_cast<int>(pieces.size()));
  if (sent < 0) return write_failed();
  // A pipe that took a part may have room for more: only a try that fails says that the next edge will come.
  note_moved(static_cast<std::size_t>(sent));
  return {.bytes = static_cast<std::size_t>(sent)};
}

IoResult PipeStream::try_send_file(int file, std::uint64_t offset, std::size_t count) noexcept {
  if (!to_) return {.status = IoStatus::error, .os_error = EPIPE};
  if (!may_write()) return {.status = IoStatus::want_write};
  auto at = static_cast<off_t>(offset);
  const ssize_t sent = ::sendfile(to_.get(), file, &at, count);
  if (sent < 0) return write_failed();
  note_moved(static_cast<std::size_t>(sent));
  return {.bytes = static_cast<std::size_t>(sent)};
}

void PipeStream::shutdown_write() noexcept {
  if (!to_) return;
  reactor_->remove(to_.get());
  to_.reset();
}

void PipeStream::wake_reader() noexcept {
  on_events(EPOLLIN | EPOLLRDHUP);
}

void PipeStream::end_input() noexcept {
  let_go_ = true;
  int left = 0;
  if (::ioctl(fd_.get(), FIONREAD, &left) == 0) left_ = static_cast<std::size_t>(std::max(left, 0));
  wake_reader();
}

void PipeStream::fail_input(int os_error) noexcept {
  failure_ = os_error;
  wake_reader();
}

}  // namespace pontage::net
