#include "protocols/ajp13/codes.h"

#include <array>

namespace pontage::ajp13 {
namespace {

using message::HeaderId;

// Index i stands for code 0xA000 + i; the first place is no code.
constexpr std::array kRequest{
    HeaderId::unknown,         HeaderId::accept,        HeaderId::accept_charset, HeaderId::accept_encoding,
    HeaderId::accept_language, HeaderId::authorization, HeaderId::connection,     HeaderId::content_type,
    HeaderId::content_length,  HeaderId::cookie,        HeaderId::cookie2,        HeaderId::host,
    HeaderId::pragma,          HeaderId::referer,       HeaderId::user_agent,
};
constexpr std::array kResponse{
    HeaderId::unknown,     HeaderId::content_type,   HeaderId::content_language, HeaderId::content_length,
    HeaderId::date,        HeaderId::last_modified,  HeaderId::location,         HeaderId::set_cookie,
    HeaderId::set_cookie2, HeaderId::servlet_engine, HeaderId::status,           HeaderId::www_authenticate,
};

using Codes = std::array<std::uint16_t, static_cast<std::size_t>(HeaderId::count_)>;

template <std::size_t N>
constexpr Codes invert(const std::array<HeaderId, N>& ids) {
  Codes codes{};
  for (std::size_t i = 1; i < N; ++i) {
    codes[static_cast<std::size_t>(ids[i])] = static_cast<std::uint16_t>(kFirstHeaderCode + i);
  }
  return codes;
}
constexpr Codes kRequestCodes = invert(kRequest);
constexpr Codes kResponseCodes = invert(kResponse);

std::uint16_t code_of(const Codes& codes, HeaderId id) noexcept {
  const auto at = static_cast<std::size_t>(id);
  return at < codes.size() ? codes[at] : std::uint16_t{0};
}

template <std::size_t N>
HeaderId id_of(const std::array<HeaderId, N>& ids, std::uint16_t code) noexcept {
  const auto at = static_cast<std::size_t>(code) - kFirstHeaderCode;  // wraps below the first code
  return at < N ? ids[at] : HeaderId::unknown;
}

}  // namespace

std::uint16_t request_header_code(HeaderId id) noexcept {
  return code_of(kRequestCodes, id);
}
std::uint16_t response_header_code(HeaderId id) noexcept {
  return code_of(kResponseCodes, id);
}
HeaderId request_header_of(std::uint16_t code) noexcept {
  return id_of(kRequest, code);
}
HeaderId response_header_of(std::uint16_t code) noexcept {
  return id_of(kResponse, code);
}

}  // namespace pontage::ajp13
