// Tells whoever started the process how it is: systemd by NOTIFY_SOCKET (sd_notify(3)), a test or script by a
// descriptor. Control thread.
#pragma once

#include <string_view>

namespace pontage::gateway {

// One datagram, e.g. "READY=1" or "STOPPING=1". Nothing happens without NOTIFY_SOCKET.
void notify_service_manager(std::string_view state) noexcept;

// Writes `text` to `fd` and closes it; -1 does nothing.
void tell_ready(int fd, std::string_view text) noexcept;

}  // namespace pontage::gateway
