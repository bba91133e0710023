// Opens listening sockets for all workers: checks first that an address is free (SO_REUSEPORT would share it silently),
// then binds one socket per worker. A unix socket has one, whose owner deals descriptors round robin. Control thread.
#pragma once

#include <string>
#include <vector>

#include "src/config/config.h"
#include "src/net/address.h"
#include "src/util/unique_fd.h"

namespace pontage::gateway {

struct OpenedListener {
  config::Listener config;
  std::vector<util::UniqueFd> sockets;  // one per worker; a unix listener has one
  std::string address;                  // as bound: the real port of ":0"
};

// False with a sentence in `error` when the address cannot be bound.
bool open_listener(const config::Listener& config, std::size_t workers, OpenedListener& opened, std::string& error);

}  // namespace pontage::gateway
