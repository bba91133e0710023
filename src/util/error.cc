#include "src/util/error.h"

namespace pontage::util {

std::string_view to_string(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::closed: return "closed";
    case ErrorKind::reset: return "reset";
    case ErrorKind::timeout: return "timeout";
    case ErrorKind::cancelled: return "cancelled";
    case ErrorKind::refused: return "refused";
    case ErrorKind::unresolved: return "unresolved";
    case ErrorKind::protocol: return "protocol";
    case ErrorKind::limit: return "limit";
    case ErrorKind::queue_full: return "queue_full";
    case ErrorKind::queue_timeout: return "queue_timeout";
    case ErrorKind::no_server: return "no_server";
    case ErrorKind::too_large: return "too_large";
    case ErrorKind::length_required: return "length_required";
    case ErrorKind::too_slow: return "too_slow";
    case ErrorKind::misdirected: return "misdirected";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::overload: return "overload";
    case ErrorKind::io: return "io";
  }
  return "unknown";
}

std::string_view to_string(Source source) noexcept {
  switch (source) {
    case Source::client: return "client";
    case Source::server: return "server";
    case Source::gateway: return "gateway";
  }
  return "unknown";
}

}  // namespace pontage::util
