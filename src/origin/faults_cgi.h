// The ways in which the origin can fail a gateway over FastCGI, SCGI and uwsgi: a table of what all three can do, and
// one of what takes FastCGI's records. Called by CgiSession once the request has been read; worker's thread.
#pragma once

#include <span>
#include <string_view>

#include "src/origin/channel.h"

namespace pontage::origin {

class CgiSession;

struct CgiFault {
  std::string_view kind;
  net::Task<Done> (*run)(CgiSession&);
};

std::span<const CgiFault> cgi_faults() noexcept;
std::span<const CgiFault> fastcgi_faults() noexcept;

}  // namespace pontage::origin
