// The ways in which the origin can fail a gateway over HTTP/1.1: a table from kind to function. Called by HttpSession
// once the request has been read; worker's thread.
#pragma once

#include <span>
#include <string_view>

#include "src/origin/channel.h"

namespace pontage::origin {

class Session;

struct HttpFault {
  std::string_view kind;
  net::Task<Done> (*run)(Session&);
};

std::span<const HttpFault> http_faults() noexcept;

}  // namespace pontage::origin
