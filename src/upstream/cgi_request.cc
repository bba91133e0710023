#include "src/upstream/cgi_request.h"

#include "src/observe/log.h"
#include "src/upstream/script_path.h"

namespace pontage::upstream {
namespace {

using message::BodyKind;
using message::HeaderId;
using util::ErrorKind;
using util::Source;

message::HeaderList field_list(http::Exchange& exchange) {
  message::HeaderList list(exchange.arena);
  if (!exchange.request.authority.empty()) list.add(HeaderId::host, exchange.request.authority);
  for (const auto& h : exchange.forward_headers) {
    if (!is_carried_apart(h)) list.add(h.name, h.value, h.id);
  }
  return list;
}

std::string_view request_uri(http::Exchange& exchange) {
  const message::Target& target = exchange.request.target;
  if (target.form == message::TargetForm::asterisk) return "*";
  if (!target.has_query) return exchange.forward_path;
  return exchange.arena.join({exchange.forward_path, "?", target.query});
}

template <class To, class From>
std::span<const To> in_arena(const std::vector<From>& from, message::Arena& arena) {
  if (from.empty()) return {};
  auto* made = static_cast<To*>(arena.allocate(sizeof(To) * from.size(), alignof(To)));
  std::size_t count = 0;
  for (const auto& one : from) {
    if constexpr (std::is_same_v<From, config::Variable>) {
      new (made + count++) To{one.name, one.value};
    } else {
      new (made + count++) To(one);
    }
  }
  return {made, count};
}

util::Failure malformed(std::string_view detail) {
  return util::Failure(util::Error{.kind = ErrorKind::protocol,
                                   .source = Source::client,
                                   .decode = wire::DecodeError::malformed_target,
                                   .detail = detail});
}

}  // namespace

bool is_carried_apart(const message::Header& field) noexcept {
  return field.id == HeaderId::x_forwarded_for || field.id == HeaderId::x_forwarded_host ||
         field.id == HeaderId::x_forwarded_port || field.id == HeaderId::x_forwarded_proto;
}

util::Result<const cgi::VariableList*> make_cgi_variables(http::Exchange& exchange, const config::CgiMapping& mapping) {
  const bool asterisk = exchange.request.target.form == message::TargetForm::asterisk;
  const auto script = find_script(asterisk ? std::string_view("/") : exchange.forward_path, mapping, exchange.arena);
  if (!script) return malformed("a line end, NUL or hidden dot segment in the path");
  return make_cgi_variables(exchange, mapping, *script);
}

util::Result<const cgi::VariableList*> make_cgi_variables(http::Exchange& exchange, const config::CgiMapping& mapping,
                                                          const ScriptPath& script) {
  const message::RequestHead& request = exchange.request;
  const auto headers = field_list(exchange);
  const std::string_view host = request.host.empty() ? std::string_view(exchange.connection->local_ip) : request.host;
  auto list =
      cgi::make_variables({.head = request,
                           .headers = headers,
                           .content_length = request.body.kind == BodyKind::exact ? request.body.length : 0,
                           .request_uri = request_uri(exchange),
                           .script_name = script.script_name,
                           .path_info = script.path_info,
                           .script_filename = script.script_filename,
                           .document_root = mapping.document_root,
                           .server_name = host,
                           .server_addr = exchange.connection->local_ip,
                           .server_port = exchange.client.port,
                           .remote_addr = exchange.client.ip,
                           .remote_port = exchange.connection->peer.port(),
                           .is_tls = exchange.client.scheme == "https",
                           .credentials = mapping.authorization ? cgi::Credentials::keep : cgi::Credentials::drop,
                           .configured = in_arena<cgi::Variable>(mapping.params, exchange.arena),
                           .underscored = in_arena<std::string_view>(mapping.underscored, exchange.arena)},
                          exchange.arena);
  if (!list) {
    const bool conflict = list.error().reason == cgi::Refusal::Reason::conflict;
    return malformed(conflict ? "two fields make one variable" : "a NUL in a field");
  }
  if (list->underscored_dropped > 0) {
    observe::log::warn_limited("underscored",
                               "route {}: {} fields with `_` in their names were left out; see `underscored`",
                               exchange.outcome.route, list->underscored_dropped);
  }
  return exchange.arena.make<cgi::VariableList>(*list);
}

}  // namespace pontage::upstream
