#include "src/upstream/fastcgi_connection.h"

#include <algorithm>

#include "protocols/fastcgi/request_encoder.h"
#include "src/observe/log.h"
#include "src/upstream/error_lines.h"

namespace pontage::upstream {

using fastcgi::ProtocolStatus;
using util::ErrorKind;
using util::Source;

namespace {

constexpr unsigned kLinesKept = 20;  // of STDERR, per server and 10 s
constexpr std::size_t kLengths = 8;  // in front of a pair, at most

// The empty STDIN record; always the same bytes.
std::string_view stdin_end() noexcept {
  static const auto record = [] {
    std::array<char, fastcgi::kHeader> bytes{};
    wire::Sink sink(bytes);
    fastcgi::encode_stdin_end(sink);
    return bytes;
  }();
  return {record.data(), record.size()};
}

enum class Begun : std::uint8_t { no, yes };

util::Failure refused(ProtocolStatus status, Begun begun) {
  // It says that it did not begin: another server may (F6). Not when it had begun nevertheless.
  if (status == ProtocolStatus::overloaded && begun == Begun::no) {
    return util::Failure(util::Error{.kind = ErrorKind::overload,
                                     .source = Source::server,
                                     .retry = util::RetryClass::not_sent,
                                     .detail = "FCGI_OVERLOADED"});
  }
  switch (status) {
    case ProtocolStatus::overloaded: return util::fail(ErrorKind::protocol, Source::server, "late FCGI_OVERLOADED");
    case ProtocolStatus::unknown_role: return util::fail(ErrorKind::protocol, Source::server, "FCGI_UNKNOWN_ROLE");
    default: return util::fail(ErrorKind::protocol, Source::server, "FCGI_CANT_MPX_CONN");
  }
}

}  // namespace

void FastCgiConnection::begin() {
  decoder_.reset();
  line_.clear();
  begun_ = false;
  keep_ = settings().keep_alive;
}

std::size_t FastCgiConnection::request_room(const cgi::VariableList& variables) const {
  return fastcgi::request_room(variables);
}

util::Result<void> FastCgiConnection::encode_request(wire::Sink& sink, const cgi::VariableList& variables) {
  const auto keep = keep_ ? fastcgi::Keep::yes : fastcgi::Keep::no;
  const auto encoded = fastcgi::encode_request(sink, variables, keep);
  const auto* script = variables.find("SCRIPT_FILENAME");
  script_ = script != nullptr ? script->value : std::string_view("none");
  if (!encoded) return util::fail(ErrorKind::limit, Source::gateway, "variable larger than a record");
  return {};
}

util::Result<void> FastCgiConnection::check_fit(const cgi::VariableList& variables, const BackendServer& server) {
  for (const auto& variable : variables) {
    const std::size_t size = variable.name.size() + variable.value.size();
    if (size + kLengths <= fastcgi::kMostContent) continue;
    observe::log::warn_limited("fastcgi-431", "backend {} server {}: {} has {} bytes, more than a FastCGI record holds",
                               server.backend(), server.name(), variable.name, size);
    return util::fail(ErrorKind::limit, Source::gateway, "variable larger than a record");
  }
  return {};
}

std::string_view FastCgiConnection::body_header(std::size_t bytes) {
  stdin_header_ = fastcgi::stdin_header(bytes);
  return {stdin_header_.data(), stdin_header_.size()};
}

std::string_view FastCgiConnection::body_end() const {
  return stdin_end();
}

util::Result<CgiConnection::Unwrapped> FastCgiConnection::unwrap(std::string_view input) {
  const auto step = decoder_.decode(input);
  if (!step) {
    observe::log::warn_limited("fastcgi-decode", "backend {} server {}: FastCGI response refused: {}",
                               server().backend(), server().name(), wire::to_string(step.error()));
    const bool first = step.error() == wire::DecodeError::bad_magic && received() == input.size();
    if (first) server().hints().note(symptom_of_bytes(input), "FastCGI");
    return util::fail_decode(step.error(), Source::server);
  }
  Unwrapped out{.consumed = step->consumed};
  switch (step->event) {
    case fastcgi::ResponseEvent::need_more: break;
    case fastcgi::ResponseEvent::output:
      begun_ = true;
      out.output = step->data;
      break;
    case fastcgi::ResponseEvent::error_text: cut_lines(line_, step->data, [this] { log_line(); }); break;
    case fastcgi::ResponseEvent::end:
      log_line();
      if (step->protocol_status != ProtocolStatus::request_complete)
        return refused(step->protocol_status, begun_ ? Begun::yes : Begun::no);
      out.ended = true;
      break;
  }
  return out;
}

// Told to give up, few servers do, but none minds (F14).
void FastCgiConnection::abandon() noexcept {
  std::array<char, fastcgi::kHeader> bytes;
  wire::Sink sink(bytes);
  fastcgi::encode_abort(sink);
  iovec piece{bytes.data(), sink.size()};
  // Behind a body that is still being sent it would stand in the middle of a record.
  if (request_sent()) static_cast<void>(stream_->try_write({&piece, 1}, net::More::no));
}

void FastCgiConnection::log_line() {
  if (!line_.empty()) {
    // What PHP means by it is the file, which it does not name (ADAPTERS P31).
    const bool which = line_.find("rimary script unknown") != std::string::npos;
    observe::log::warn_few("stderr " + server().name(), kLinesKept, "backend {} server {} says: {}{}{}",
                           server().backend(), server().name(), line_, which ? "; SCRIPT_FILENAME is " : "",
                           which ? script_ : "");
    if (which) server().hints().note(Symptom::script_unknown, script_);
    if (line_.find("security.limit_extensions") != std::string::npos) {
      server().hints().note(Symptom::script_denied, script_);
    }
  }
  line_.clear();
}

}  // namespace pontage::upstream
