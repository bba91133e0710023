#include "src/handlers/fixed.h"

#include "src/http/simple_response.h"

namespace pontage::handlers {
namespace {

std::string_view expand_location(std::string_view text, http::Exchange& exchange) {
  const auto& request = exchange.request;
  const std::string_view query =
      request.target.has_query ? exchange.arena.join({"?", request.target.query}) : std::string_view{};
  const std::string_view configured = text;
  std::string_view out;
  while (!text.empty()) {
    const auto dollar = text.find('$');
    const auto plain = text.substr(0, dollar);
    text = dollar == std::string_view::npos ? std::string_view{} : text.substr(dollar);
    std::string_view value;
    if (text.starts_with("$path")) {
      value = exchange.forward_path;
      text.remove_prefix(5);
    } else if (text.starts_with("$query")) {
      value = query;
      text.remove_prefix(6);
    } else if (!text.empty()) {
      value = text.substr(0, 1);
      text.remove_prefix(1);
    }
    out = exchange.arena.join({out, plain, value});
  }
  // "//host" would lead elsewhere (CASES P16): a location that begins with the client's path keeps one slash.
  while (configured.starts_with("$path") && out.size() > 1 && (out[1] == '/' || out[1] == '\\')) out.remove_prefix(1);
  return out;
}

}  // namespace

net::Task<util::Result<http::Response>> RedirectHandler::handle(http::Exchange& exchange) {
  http::Response response = http::make_response(exchange, action_.status, {}, {});
  response.head.headers.add(message::HeaderId::location, expand_location(action_.location, exchange));
  co_return response;
}

net::Task<util::Result<http::Response>> RespondHandler::handle(http::Exchange& exchange) {
  co_return http::make_response(exchange, action_.status, action_.content_type, action_.body);
}

}  // namespace pontage::handlers
