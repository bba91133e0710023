#include "protocols/message/framing.h"

#include <string_view>

#include "protocols/message/status.h"
#include "protocols/wire/ascii.h"

namespace pontage::message {
namespace {

using wire::DecodeError;
using Result = wire::Expected<BodyFraming, DecodeError>;

wire::Unexpected<DecodeError> refuse(DecodeError error) noexcept {
  return wire::Unexpected(error);
}

struct FramingFields {
  const Header* length = nullptr;
  const Header* encoding = nullptr;
  std::size_t lengths = 0;
  std::size_t encodings = 0;
};

FramingFields framing_fields(const HeaderList& headers) noexcept {
  FramingFields found;
  for (const auto& h : headers) {
    if (h.id == HeaderId::content_length) {
      found.length = &h;
      ++found.lengths;
    } else if (h.id == HeaderId::transfer_encoding) {
      found.encoding = &h;
      ++found.encodings;
    }
  }
  return found;
}

Result exact_length(const FramingFields& fields) noexcept {
  if (fields.lengths != 1) return refuse(DecodeError::bad_content_length);
  const auto length = wire::parse_decimal(fields.length->value);
  if (!length) return refuse(DecodeError::bad_content_length);
  return BodyFraming{BodyKind::exact, *length};
}

// RFC 9112 6.1 and 6.3: one field that says "chunked". Anything else whose end could still be found by a peer that
// knows the coding is unsupported (501); what two peers could read differently is bad (400).
Result transfer_coding(const FramingFields& fields, Version version) noexcept {
  if (fields.lengths != 0) return refuse(DecodeError::length_and_transfer_encoding);
  if (version.major != 1 || version.minor == 0 || fields.encodings != 1) {
    return refuse(DecodeError::bad_transfer_encoding);
  }
  const auto value = wire::trim_ows(fields.encoding->value);
  if (wire::iequals(value, "chunked")) return BodyFraming{BodyKind::chunked, 0};

  bool well_formed = !value.empty();
  std::size_t codings = 0;
  std::size_t chunked_at = 0;  // 1-based, 0 for nowhere
  wire::for_each_element(value, [&](std::string_view coding) {
    ++codings;
    well_formed = well_formed && wire::is_token(coding) && chunked_at == 0;
    if (wire::iequals(coding, "chunked")) chunked_at = codings;
  });
  if (!well_formed || codings == 0 || (codings == 1 && chunked_at == 1)) {
    return refuse(DecodeError::bad_transfer_encoding);
  }
  return refuse(DecodeError::unsupported_transfer_encoding);
}

}  // namespace

Result request_framing(const HeaderList& headers, Version version) noexcept {
  const auto fields = framing_fields(headers);
  if (fields.encodings != 0) return transfer_coding(fields, version);
  if (fields.lengths == 0) return BodyFraming{};
  auto framing = exact_length(fields);
  if (framing && framing->length == 0) return BodyFraming{};
  return framing;
}

std::optional<Version> parse_version(std::string_view text) noexcept {
  constexpr std::string_view kName = "HTTP/";
  if (!text.starts_with(kName)) return std::nullopt;
  text.remove_prefix(kName.size());
  if (text.empty() || !wire::is_digit(text[0])) return std::nullopt;
  Version version{static_cast<std::uint8_t>(text[0] - '0'), 0};
  if (text.size() == 1) return version;
  if (text.size() != 3 || text[1] != '.' || !wire::is_digit(text[2])) return std::nullopt;
  version.minor = static_cast<std::uint8_t>(text[2] - '0');
  return version;
}

Result response_framing(const HeaderList& headers, Version version, int status, Method request_method) noexcept {
  // RFC 9112 6.3 (2): after a successful CONNECT both fields are ignored, whatever they say.
  if (request_method == Method::connect && status >= 200 && status < 300) return BodyFraming{};
  const auto fields = framing_fields(headers);
  if (fields.lengths != 0) {
    if (const auto length = exact_length(fields); !length) return length;
  }
  if (request_method == Method::head || forbids_body(status)) return BodyFraming{};
  if (fields.encodings != 0) return transfer_coding(fields, version);
  if (fields.lengths != 0) return exact_length(fields);
  return BodyFraming{BodyKind::until_close, 0};
}

}  // namespace pontage::message
