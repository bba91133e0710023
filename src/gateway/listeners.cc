#include "src/gateway/listeners.h"

#include <cerrno>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

#include "src/net/acceptor.h"
#include "src/net/socket_options.h"

namespace pontage::gateway {
namespace {

std::string sentence(const config::Listener& config, int os_error) {
  return "cannot listen on " + config.bind + ": " + ::strerrordesc_np(os_error);
}

// A socket file that nobody listens behind is a left-over of a process that was killed.
void remove_stale_socket(const net::Address& address) {
  const std::string path = address.text().substr(5);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  const util::UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(probe.get(), address.raw(), address.size()) != 0 && errno == ECONNREFUSED) ::unlink(path.c_str());
}

bool open_inherited(const config::Listener& config, const InheritedSockets& inherited, OpenedListener& opened,
                    std::string& error) {
  opened.sharing = OpenedListener::Sharing::dealt;
  opened.sockets = inherited.open(std::string_view(config.bind).substr(config::kInherited.size()), error);
  for (const auto& socket : opened.sockets) {
    const net::Address address = net::local_address(socket.get());
    if (!address.is_unix() && address.is_loopback()) net::send_without_pacing(socket.get());
    opened.address += (opened.address.empty() ? "" : ",") + address.text();
  }
  if (opened.sockets.empty()) error = "cannot listen on " + config.bind + ": " + error;
  return !opened.sockets.empty();
}

}  // namespace

bool open_listener(const config::Listener& config, std::size_t workers, const InheritedSockets& inherited,
                   OpenedListener& opened, std::string& error) {
  if (config.bind.starts_with(config::kInherited)) {
    opened.config = config;
    return open_inherited(config, inherited, opened, error);
  }
  auto address = net::Address::from_bind(config.bind);
  if (!address) {
    error = "cannot listen on " + config.bind + ": not an address";
    return false;
  }
  opened.config = config;
  int os_error = 0;
  if (address->is_unix()) remove_stale_socket(*address);
  // Alone first, so that an address somebody else has is an error rather than shared.
  util::UniqueFd alone = net::listen_on(*address, false, os_error);
  if (!alone && os_error == EAFNOSUPPORT && address->family() == AF_INET6) {
    address = net::Address::from_ip("0.0.0.0", address->port());
    alone = net::listen_on(*address, false, os_error);
  }
  if (!alone) {
    error = sentence(config, os_error);
    return false;
  }
  const net::Address bound = net::local_address(alone.get());
  opened.address = bound.text();
  if (address->is_unix() || workers == 1) {
    opened.sharing = OpenedListener::Sharing::dealt;
    opened.sockets.push_back(std::move(alone));
    return true;
  }
  alone.reset();
  for (std::size_t i = 0; i < workers; ++i) {
    util::UniqueFd socket = net::listen_on(bound, true, os_error);
    if (!socket) {
      error = sentence(config, os_error);
      return false;
    }
    opened.sockets.push_back(std::move(socket));
  }
  return true;
}

}  // namespace pontage::gateway
