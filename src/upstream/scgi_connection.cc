#include "src/upstream/scgi_connection.h"

#include "protocols/scgi/request_encoder.h"
#include "protocols/uwsgi/request_encoder.h"
#include "src/observe/log.h"

namespace pontage::upstream {

namespace {
constexpr std::size_t kUwsgiBufferSize = 4096;  // uWSGI's own default
}

std::size_t ScgiConnection::request_room(const cgi::VariableList& variables) const {
  if (encoding_ == BlockEncoding::scgi) return scgi::request_room(variables);
  return uwsgi::kHeader + uwsgi::block_size(variables);
}

util::Result<void> ScgiConnection::encode_request(wire::Sink& sink, const cgi::VariableList& variables) {
  if (encoding_ == BlockEncoding::scgi) {
    scgi::encode_request(sink, variables);
    return {};
  }
  const auto encoded = uwsgi::encode_request(sink, variables, uwsgi::kMostBlock);
  if (!encoded) return util::fail(util::ErrorKind::limit, util::Source::gateway, "max_vars");
  return {};
}

util::Result<void> ScgiConnection::check_fit(const cgi::VariableList& variables, const BackendServer& server,
                                             std::uint64_t most) {
  const std::size_t size = uwsgi::block_size(variables);
  if (size <= most) return {};
  observe::log::warn_limited("uwsgi-431",
                             "backend {} server {}: the variables of a request have {} bytes, max_vars is {}",
                             server.backend(), server.name(), size, most);
  return util::fail(util::ErrorKind::limit, util::Source::gateway, "max_vars");
}

void ScgiConnection::note_no_answer(std::size_t request_bytes) const noexcept {
  if (encoding_ != BlockEncoding::uwsgi || request_bytes <= kUwsgiBufferSize) return;
  server().hints().note(Symptom::uwsgi_buffer, std::to_string(request_bytes));
}

}  // namespace pontage::upstream
