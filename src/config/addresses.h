// Addresses as the configuration writes them: server URLs, listener binds, trusted networks. Syntax only: nothing is
// resolved. Called by the key table. Pure; control thread.
#pragma once

#include <string>
#include <string_view>

#include "src/config/config.h"
#include "src/config/scalars.h"

namespace pontage::config {

// `http://HOST[:PORT]`, `ajp://HOST[:PORT]`, `http+unix:/path`, `ajp+unix:/path`. Default ports: http 80, ajp 8009. The
// host of an IPv6 address is stored without its brackets.
Parsed<ServerUrl> parse_server_url(std::string_view text);
// "host:port" (IPv6 in brackets) or the unix path: the name of a server that was given none.
std::string default_server_name(const ServerUrl& url);
// True for 127.0.0.0/8, ::1, localhost and unix sockets.
bool is_loopback(const ServerUrl& url) noexcept;

// The error in a bind text, or empty: `:80`, `127.0.0.1:80`, `[::1]:80`, `localhost:80`, `unix:/path`.
std::string bind_error(std::string_view text);
// The error in an address or CIDR block, or empty.
// Why `name` cannot be the name of inherited sockets, as systemd restricts it; empty when it can.
std::string inherited_name_error(std::string_view name);
std::string network_error(std::string_view text);

// ASCII lower case.
std::string lower(std::string_view text);

}  // namespace pontage::config
