#include "src/origin/fastcgi_session.h"

#include <algorithm>

#include "protocols/fastcgi/record.h"
#include "protocols/fastcgi/response_encoder.h"
#include "src/origin/faults_cgi.h"

namespace pontage::origin {

std::string_view FastCgiSession::wrap(std::string_view& piece) {
  const auto part = piece.substr(0, fastcgi::kMostContent);
  const auto header = fastcgi::record_header(fastcgi::RecordType::stdout_, part.size());
  out().append({header.data(), header.size()});
  piece.remove_prefix(part.size());
  return part;
}

void FastCgiSession::put_end() {
  out().encode([](wire::Sink& sink) {
    fastcgi::encode_record(sink, fastcgi::RecordType::stdout_, {});
    fastcgi::encode_end_request(sink, 0, fastcgi::ProtocolStatus::request_complete);
  });
}

std::span<const CgiFault> FastCgiSession::more_faults() const noexcept {
  return fastcgi_faults();
}

}  // namespace pontage::origin
