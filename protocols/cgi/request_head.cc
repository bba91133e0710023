#include "protocols/cgi/request_head.h"

#include <algorithm>

#include "protocols/wire/ascii.h"

namespace pontage::cgi {

using message::HeaderId;
using wire::DecodeError;
using Failure = std::optional<DecodeError>;

namespace {

constexpr std::string_view kFieldPrefix = "HTTP_";

std::string_view value_of(const VariableList& variables, std::string_view name) noexcept {
  const auto* found = variables.find(name);
  return found != nullptr ? found->value : std::string_view{};
}

Failure read_line(const VariableList& variables, const wire::HeadLimits& limits, message::RequestHead& head) {
  head.method_text = value_of(variables, "REQUEST_METHOD");
  head.target_text = value_of(variables, "REQUEST_URI");
  if (!wire::is_token(head.method_text)) return DecodeError::malformed_request_line;
  if (head.method_text.size() + head.target_text.size() > limits.request_line) {
    return DecodeError::request_line_too_long;
  }
  head.method = message::parse_method(head.method_text);
  const auto target = message::parse_target(head.target_text, head.method);
  if (!target) return target.error();
  // A gateway has taken it apart: what is left is a path, or the asterisk.
  if (target->form != message::TargetForm::origin && target->form != message::TargetForm::asterisk) {
    return DecodeError::malformed_target;
  }
  head.target = *target;
  const auto version = message::parse_version(value_of(variables, "SERVER_PROTOCOL"));
  if (!version) return DecodeError::unsupported_version;
  head.version = *version;
  return {};
}

// "X_SOME_THING" as a field's name; `id` when it is a known one.
std::string_view field_name(std::string_view text, message::Arena& arena, HeaderId& id) {
  const auto room = arena.chars(text.size());
  bool begins = true;
  std::transform(text.begin(), text.end(), room.begin(), [&](char c) {
    const char made = c == '_' ? '-' : begins ? c : wire::to_lower(c);
    begins = c == '_';
    return made;
  });
  const std::string_view name(room.data(), room.size());
  id = message::lookup_header(name);
  return id == HeaderId::unknown ? name : message::header_name(id);
}

bool is_field_name(std::string_view text) noexcept {
  const auto fits = [](char c) { return (c >= 'A' && c <= 'Z') || wire::is_digit(c) || c == '_'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

Failure read_field(const Variable& variable, std::string_view length, message::Arena& arena,
                   message::RequestHead& head) {
  const auto text = variable.name.substr(kFieldPrefix.size());
  if (!is_field_name(text) || !wire::is_field_value(variable.value)) return DecodeError::malformed_header;
  HeaderId id = HeaderId::unknown;
  const auto name = field_name(text, arena, id);
  switch (id) {
    case HeaderId::transfer_encoding: return DecodeError::bad_transfer_encoding;
    // Some gateways say both twice; two lengths are two requests.
    case HeaderId::content_length:
      if (variable.value != length) return DecodeError::bad_content_length;
      return {};
    case HeaderId::content_type: return {};
    default: head.headers.add(name, variable.value, id);
  }
  return {};
}

Failure read_fields(const VariableList& variables, const wire::HeadLimits& limits, message::Arena& arena,
                    message::RequestHead& head) {
  const auto length = content_length(variables);
  if (!length) return length.error();
  const auto length_text = value_of(variables, "CONTENT_LENGTH");
  const auto type = value_of(variables, "CONTENT_TYPE");
  if (!wire::is_field_value(type)) return DecodeError::malformed_header;
  for (const auto& variable : variables) {
    if (variable.name.size() + variable.value.size() > limits.header) return DecodeError::header_too_long;
    if (!variable.name.starts_with(kFieldPrefix)) continue;
    if (const auto error = read_field(variable, length_text, arena, head)) return error;
  }
  if (!type.empty()) head.headers.add(HeaderId::content_type, type);
  if (length->value_or(0) == 0) return {};
  head.headers.add(HeaderId::content_length, length_text);
  head.body = {message::BodyKind::exact, **length};
  return {};
}

}  // namespace

Failure take_variable(VariableList& list, std::string_view name, std::string_view value,
                      const wire::HeadLimits& limits) {
  constexpr std::string_view kNever("\0=", 2);
  if (list.size() == limits.header_count) return DecodeError::too_many_headers;
  if (name.empty() || name.find_first_of(kNever) != std::string_view::npos) return DecodeError::bad_string;
  if (value.find('\0') != std::string_view::npos || list.find(name) != nullptr) return DecodeError::bad_string;
  list.add(name, value);
  return {};
}

wire::Expected<std::optional<std::uint64_t>, DecodeError> content_length(const VariableList& variables) noexcept {
  const auto text = value_of(variables, "CONTENT_LENGTH");
  if (text.empty()) return std::optional<std::uint64_t>{};
  const auto length = wire::parse_decimal(text);
  if (!length) return wire::Unexpected(DecodeError::bad_content_length);
  return length;
}

Failure read_request_head(const VariableList& variables, const wire::HeadLimits& limits, message::Arena& arena,
                          message::RequestHead& head) {
  head = message::RequestHead{};
  head.headers = message::HeaderList(arena);
  if (const auto error = read_line(variables, limits, head)) return error;
  if (const auto error = read_fields(variables, limits, arena, head)) return error;
  const auto port = wire::parse_decimal(value_of(variables, "SERVER_PORT")).value_or(0);
  return message::settle_authority(head, value_of(variables, "SERVER_NAME"),
                                   port <= 0xffff ? static_cast<std::uint16_t>(port) : std::uint16_t{0}, arena);
}

}  // namespace pontage::cgi
