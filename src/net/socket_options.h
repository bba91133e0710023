// What the gateway asks of its sockets. Each is one setsockopt (the probes are three); a refusal is not an error, for
// the connection works without.
#pragma once

namespace pontage::net {

// TCP only: small writes leave at once.
void send_without_delay(int fd) noexcept;

// Where the system's congestion control paces what is sent (BBR), a body of more than 64 KiB waits for high-resolution
// timers; inside one machine there is nothing to pace for, and the timers were two thirds of a 100 KB file. For sockets
// whose address is a loopback one; before they listen or connect, for a connection that has begun with BBR stays paced
// whatever it is told. Accepted connections inherit it from their listener.
void send_without_pacing(int fd) noexcept;

// Has the kernel probe a silent TCP connection after 60 s, for firewalls forget idle ones (ADAPTERS A30). For
// connections that idle: to others it would be three system calls for nothing. Other sockets stay as they are.
void enable_keepalive_probes(int fd) noexcept;

}  // namespace pontage::net
