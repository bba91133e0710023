// Opens listening sockets for all workers: checks first that an address is free (SO_REUSEPORT would share it silently),
// then binds one socket per worker. A unix socket is one, and inherited ones are as many as there are: worker 0 accepts
// from those, and deals descriptors round robin. Control thread.
#pragma once

#include <string>
#include <vector>

#include "src/config/config.h"
#include "src/gateway/inherited.h"
#include "src/net/address.h"
#include "src/util/unique_fd.h"

namespace pontage::gateway {

struct OpenedListener {
  enum class Sharing : std::uint8_t { one_each, dealt };
  config::Listener config;
  Sharing sharing = Sharing::one_each;
  std::vector<util::UniqueFd> sockets;  // one per worker; those of worker 0, which are dealt
  std::string address;                  // as bound: the real port of ":0"; several with a comma between them
};

// False with a sentence in `error` when the address cannot be bound, or there are no such sockets among `inherited`.
bool open_listener(const config::Listener& config, std::size_t workers, const InheritedSockets& inherited,
                   OpenedListener& opened, std::string& error);

}  // namespace pontage::gateway
