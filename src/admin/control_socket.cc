#include "src/admin/control_socket.h"

#include <cerrno>
#include <charconv>
#include <chrono>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "src/net/address.h"
#include "src/util/unique_fd.h"

namespace pontage::admin {

using local = asio::local::stream_protocol;

struct ControlSocket::State {
  State(asio::io_context& io, Command c) : loop(io), command(std::move(c)), acceptor(io) {}

  static asio::awaitable<void> serve(std::shared_ptr<State> self, std::shared_ptr<local::socket> socket) {
    asio::steady_timer deadline(self->loop, std::chrono::seconds(5));
    deadline.async_wait([socket](boost::system::error_code failed) {
      if (!failed) socket->close(failed);
    });
    std::string line;
    const auto [failed, size] = co_await asio::async_read_until(*socket, asio::dynamic_buffer(line, 256), '\n', kAwait);
    deadline.cancel();
    if (failed) co_return;
    const ControlAnswer answer = self->command(std::string_view(line).substr(0, size - 1));
    const std::string text = std::to_string(answer.exit_code) + "\n" + answer.text;
    co_await asio::async_write(*socket, asio::buffer(text), kAwait);
  }

  static asio::awaitable<void> accept_all(std::shared_ptr<State> self) {
    while (self->acceptor.is_open()) {
      auto [failed, socket] = co_await self->acceptor.async_accept(kAwait);
      if (failed == asio::error::operation_aborted || failed == asio::error::bad_descriptor) co_return;
      if (failed) {
        asio::steady_timer pause(self->loop, std::chrono::milliseconds(100));
        co_await pause.async_wait(kAwait);
        continue;
      }
      asio::co_spawn(self->loop, serve(self, std::make_shared<local::socket>(std::move(socket))), asio::detached);
    }
  }

  asio::io_context& loop;
  Command command;
  local::acceptor acceptor;
  std::string path;
};

ControlSocket::ControlSocket(asio::io_context& loop, Command command)
    : state_(std::make_shared<State>(loop, std::move(command))) {}

ControlSocket::~ControlSocket() {
  boost::system::error_code ignored;
  state_->acceptor.close(ignored);
  if (!state_->path.empty()) ::unlink(state_->path.c_str());
}

bool ControlSocket::listen(const std::string& path, std::string& error) {
  const auto address = net::Address::from_unix(path);
  if (!address) {
    error = "control: " + path + " is too long for a socket path";
    return false;
  }
  const util::UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(probe.get(), address->raw(), address->size()) == 0) {
    error = "control: " + path + " is in use by another process";
    return false;
  }
  if (errno == ECONNREFUSED) ::unlink(path.c_str());  // left over from a process that was killed
  const mode_t before = ::umask(0177);
  boost::system::error_code failed;
  state_->acceptor.open(local(), failed);
  if (!failed) state_->acceptor.bind(local::endpoint(path), failed);
  ::umask(before);
  if (!failed) state_->acceptor.listen(16, failed);
  if (failed) {
    error = "control: " + path + ": " + failed.message();
    return false;
  }
  state_->path = path;
  asio::co_spawn(state_->loop, State::accept_all(state_), asio::detached);
  return true;
}

ControlAnswer ask_control(const std::string& path, std::string_view verb, int seconds) {
  const auto address = net::Address::from_unix(path);
  const util::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!address || ::connect(fd.get(), address->raw(), address->size()) != 0) {
    return {1, "no pontage answers at " + path + ": " + ::strerrordesc_np(errno) + "\n"};
  }
  const timeval patience{.tv_sec = seconds, .tv_usec = 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const std::string line = std::string(verb) + "\n";
  std::string answer;
  if (::send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size())) {
    char room[4096];
    for (ssize_t got = 0; (got = ::recv(fd.get(), room, sizeof room, 0)) > 0;)
      answer.append(room, static_cast<std::size_t>(got));
  }
  int code = 1;
  const auto end = answer.find('\n');
  if (end == std::string::npos || std::from_chars(answer.data(), answer.data() + end, code).ec != std::errc{}) {
    return {1, "pontage did not answer in time\n"};
  }
  return {code, answer.substr(end + 1)};
}

}  // namespace pontage::admin
