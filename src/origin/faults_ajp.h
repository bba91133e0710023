// The ways in which the origin can fail a gateway over AJP: a table from kind to function. Called by AjpSession once
// the first body packet, if one comes unasked, has been read; worker's thread.
#pragma once

#include <span>
#include <string_view>

#include "src/origin/channel.h"

namespace pontage::origin {

class AjpSession;

struct AjpFault {
  std::string_view kind;
  net::Task<Done> (*run)(AjpSession&);
};

std::span<const AjpFault> ajp_faults() noexcept;

}  // namespace pontage::origin
