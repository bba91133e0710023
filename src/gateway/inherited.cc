#include "src/gateway/inherited.h"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pontage::gateway {
namespace {

constexpr int kFirst = 3;                          // SD_LISTEN_FDS_START
constexpr int kMost = 65536;                       // above any limit of descriptors that is in use
constexpr std::string_view kNameless = "unknown";  // as sd_listen_fds_with_names calls them

std::optional<int> number(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const auto done = std::from_chars(text, text + std::strlen(text), value);
  if (done.ec != std::errc{} || *done.ptr != '\0') return std::nullopt;
  return value;
}

int option(int fd, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

// Why nothing can be accepted on it; empty when it can.
std::string unfit(int fd) {
  const int type = option(fd, SO_TYPE);
  if (type < 0) return "is no socket";
  if (type != SOCK_STREAM) return "is no stream socket (in the socket unit: ListenStream=)";
  const int domain = option(fd, SO_DOMAIN);
  if (domain != AF_INET && domain != AF_INET6 && domain != AF_UNIX) return "is neither a TCP nor a unix socket";
  if (option(fd, SO_ACCEPTCONN) != 1) return "does not listen (in the socket unit: Accept=no)";
  return {};
}

}  // namespace

InheritedSockets InheritedSockets::take(int lowest) {
  InheritedSockets taken;
  const auto pid = number("LISTEN_PID");
  const auto count = number("LISTEN_FDS");
  const char* given = std::getenv("LISTEN_FDNAMES");
  std::string names = given != nullptr ? given : "";
  for (const char* variable : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID"}) ::unsetenv(variable);
  if (pid != ::getpid() || !count || *count <= 0 || *count > kMost) return taken;
  for (int fd = kFirst; fd < kFirst + *count; ++fd) {
    const auto end = names.find(':');
    std::string name = names.substr(0, end);
    names.erase(0, end == std::string::npos ? end : end + 1);
    const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, lowest);
    if (moved >= 0) {
      ::close(fd);
    } else {
      ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    if (name.empty()) name = kNameless;
    taken.sockets_.emplace_back(std::move(name), util::UniqueFd(moved >= 0 ? moved : fd));
  }
  return taken;
}

std::vector<util::UniqueFd> InheritedSockets::open(std::string_view name, std::string& error) const {
  std::vector<util::UniqueFd> opened;
  std::string others;
  for (const auto& [have, socket] : sockets_) {
    if (have != name) {
      others += (others.empty() ? "" : ", ") + have;
      continue;
    }
    if (const auto why = unfit(socket.get()); !why.empty()) {
      error = "the inherited descriptor of that name " + why;
      return {};
    }
    util::UniqueFd own(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
    const int flags = ::fcntl(own.get(), F_GETFL);
    if (!own || flags < 0 || ::fcntl(own.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
      error = ::strerrordesc_np(errno);
      return {};
    }
    opened.push_back(std::move(own));
  }
  if (opened.empty()) {
    error = "no socket of that name was handed over (LISTEN_FDS, LISTEN_FDNAMES)";
    error += others.empty() ? ", nor any other" : "; there are: " + others;
  }
  return opened;
}

}  // namespace pontage::gateway
