#include "protocols/ajp13/forward_request.h"

#include <algorithm>

#include "protocols/ajp13/fields.h"
#include "protocols/ajp13/strings.h"
#include "protocols/message/framing.h"
#include "protocols/message/target.h"
#include "protocols/wire/ascii.h"

namespace pontage::ajp13 {
namespace {

using message::HeaderId;
using wire::DecodeError;
using Failure = std::optional<DecodeError>;

// The part before the headers (A4). `method_code` is looked at when the attributes are known.
Failure read_line(wire::Cursor& in, std::uint8_t& method_code, message::RequestHead& head, Attributes& attributes) {
  in.u8();
  const auto code = in.u8();
  if (!code) return DecodeError::bad_length;
  method_code = *code;
  const auto protocol = read_string(in);
  const auto path = protocol ? read_string(in) : std::nullopt;
  const auto remote_addr = path ? read_string(in) : std::nullopt;
  const auto remote_host = remote_addr ? read_string(in) : std::nullopt;
  const auto server_name = remote_host ? read_string(in) : std::nullopt;
  if (!server_name) return DecodeError::bad_string;
  const auto port = in.u16be();
  const auto is_tls = port ? in.u8() : std::nullopt;
  if (!is_tls) return DecodeError::bad_length;
  if (*is_tls > 1) return DecodeError::unknown_code;

  const auto version = message::parse_version(*protocol);
  if (!version) return DecodeError::unsupported_version;
  head.version = *version;
  const bool is_asterisk = *path == "*";
  if (!is_asterisk && !path->starts_with('/')) return DecodeError::malformed_target;
  if (!std::all_of(path->begin(), path->end(), [](char c) { return is_target_char(c) && c != '?'; })) {
    return DecodeError::malformed_target;
  }
  head.target.form = is_asterisk ? message::TargetForm::asterisk : message::TargetForm::origin;
  head.target.raw_path = *path;
  attributes.remote_addr = *remote_addr;
  attributes.remote_host = *remote_host;
  attributes.server_name = *server_name;
  attributes.server_port = *port;
  attributes.is_tls = *is_tls == 1;
  return std::nullopt;
}

void store_request_attribute(std::string_view name, std::string_view value, Attributes& attributes) {
  if (name == "AJP_REMOTE_PORT") {
    const auto port = wire::parse_decimal(value).value_or(0);
    attributes.remote_port = port <= 0xffff ? static_cast<std::uint16_t>(port) : std::uint16_t{0};
  } else if (name == "AJP_LOCAL_ADDR") {
    attributes.local_addr = value;
  } else if (name == "AJP_SSL_PROTOCOL") {
    attributes.ssl_protocol = value;
  } else if (name == "JK_LB_ACTIVATION") {
    attributes.activation = value;
  } else {
    attributes.others.add(name, value, HeaderId::unknown);
  }
}

// Where the value of a string attribute goes, or nullptr for one that is read and left (servlet_path: A8).
std::string_view* place_of(AttributeCode code, Attributes& attributes, std::string_view& stored_method,
                           std::string_view& query) noexcept {
  switch (code) {
    case AttributeCode::context: return &attributes.context;
    case AttributeCode::remote_user: return &attributes.remote_user;
    case AttributeCode::auth_type: return &attributes.auth_type;
    case AttributeCode::query_string: return &query;
    case AttributeCode::route: return &attributes.route;
    case AttributeCode::ssl_cert: return &attributes.ssl_cert;
    case AttributeCode::ssl_cipher: return &attributes.ssl_cipher;
    case AttributeCode::ssl_session: return &attributes.ssl_session;
    case AttributeCode::secret: return &attributes.secret;
    case AttributeCode::stored_method: return &stored_method;
    case AttributeCode::servlet_path:
    case AttributeCode::req_attribute:
    case AttributeCode::ssl_key_size:
    case AttributeCode::end: return nullptr;
  }
  return nullptr;
}

bool is_known(std::uint8_t code) noexcept {
  return code >= static_cast<std::uint8_t>(AttributeCode::context) &&
         code <= static_cast<std::uint8_t>(AttributeCode::stored_method);
}

Failure read_attributes(wire::Cursor& in, std::size_t limit, message::RequestHead& head, Attributes& attributes,
                        std::string_view& stored_method) {
  for (std::size_t count = 0;; ++count) {
    const auto byte = in.u8();
    if (!byte) return DecodeError::bad_length;
    const auto code = static_cast<AttributeCode>(*byte);
    if (code == AttributeCode::end) return std::nullopt;
    if (!is_known(*byte)) return DecodeError::unknown_code;
    if (count == limit) return DecodeError::too_many_headers;
    if (code == AttributeCode::ssl_key_size) {
      const auto bits = in.u16be();
      if (!bits) return DecodeError::bad_length;
      attributes.ssl_key_size = *bits;
      continue;
    }
    const auto first = read_string(in);
    if (!first) return DecodeError::bad_string;
    if (code == AttributeCode::req_attribute) {
      const auto value = read_string(in);
      if (!value) return DecodeError::bad_string;
      store_request_attribute(*first, *value, attributes);
      continue;
    }
    if (auto* place = place_of(code, attributes, stored_method, head.target.query)) *place = *first;
    // A query of "none" is no query; an empty one is (A11).
    if (code == AttributeCode::query_string) head.target.has_query = first->data() != nullptr;
  }
}

Failure set_method(std::uint8_t code, std::string_view stored, message::RequestHead& head) {
  if (code == kStoredMethod) {
    if (!wire::is_token(stored)) return DecodeError::malformed_request_line;
    head.method = message::parse_method(stored);
    head.method_text = stored;
    return std::nullopt;
  }
  if (code == 0 || code > kLastMethodCode) return DecodeError::unknown_code;
  // Two methods in one request: whoever takes the other one sees another request.
  if (!stored.empty()) return DecodeError::malformed_request_line;
  head.method = static_cast<message::Method>(code);
  head.method_text = message::to_string(head.method);
  return std::nullopt;
}

}  // namespace

Failure read_forward_request(std::string_view payload, const wire::HeadLimits& limits, message::Arena& arena,
                             message::RequestHead& head, Attributes& attributes) {
  head = message::RequestHead{};
  head.headers = message::HeaderList(arena);
  attributes = Attributes{};
  attributes.others = message::HeaderList(arena);
  wire::Cursor in(arena.copy(payload));
  std::uint8_t method_code = 0;
  std::string_view stored_method;
  if (const auto error = read_line(in, method_code, head, attributes)) return error;
  const auto count = in.u16be();
  if (!count) return DecodeError::bad_length;
  if (const auto error = read_fields(in, *count, limits, request_header_of, head.headers)) return error;
  if (const auto error = read_attributes(in, limits.header_count, head, attributes, stored_method)) return error;
  if (in.remaining() != 0) return DecodeError::bad_length;

  if (const auto error = set_method(method_code, stored_method, head)) return error;
  auto& target = head.target;
  if (!std::all_of(target.query.begin(), target.query.end(), is_target_char)) return DecodeError::malformed_target;
  head.target_text = target.has_query ? arena.join({target.raw_path, "?", target.query}) : target.raw_path;
  if (target.raw_path.size() + target.query.size() > limits.request_line) return DecodeError::request_line_too_long;
  if (const auto error = message::settle_authority(head, attributes.server_name, attributes.server_port, arena)) {
    return error;
  }
  // A gateway has taken the coding off: one that is still named was not understood (A15).
  if (head.headers.has(HeaderId::transfer_encoding)) return DecodeError::bad_transfer_encoding;
  const auto framing = message::request_framing(head.headers, head.version);
  if (!framing) return framing.error();
  head.body = *framing;
  return std::nullopt;
}

}  // namespace pontage::ajp13
